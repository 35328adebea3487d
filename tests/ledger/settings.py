"""Settings of ledgers that are made up."""

from dpfit.accounting._ledger_entries import Settings


def whole(mu=1.0, **others):
    """Return the settings of a ledger."""
    values = {"ledger": "a", "dataset": "x", "unit": None, "rows_per_unit": 1, "created": ""}
    values |= {"neighbors": "add_remove", "epsilon": None, "delta": 1e-6, "mu": mu}
    values |= {"other_epsilon": 0.0, "other_delta": 0.0}
    return Settings(**values | others)
