"""Differentially private regression without tuning.

Names are imported when they are first used, so that the command line starts quickly and a program
that needs only the accountant does not wait for scikit-learn.
"""

from __future__ import annotations

# As in `typing`, which takes ten milliseconds to import. Ctrl-C in them would be a traceback of the
# command line.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from dpfit.accounting.ledger import Ledger
    from dpfit.exceptions import (
        BudgetExceeded,
        DpfitError,
        ExactScoreWarning,
        HiddenTargetWarning,
        InsecureSeedWarning,
        LedgerError,
        LedgerWarning,
        ModelFileError,
        NotFiniteError,
        ParameterError,
        SourceError,
    )
    from dpfit.models.additive import PrivateAdditiveRegression
    from dpfit.models.file import load
    from dpfit.models.linear import PrivateLinearRegression
    from dpfit.models.plan import plan
    from dpfit.paper import AdaSSP, BoostedAdaSSP, BoostedMean, DPGradientDescent, TukeyEM
    from dpfit.schema import Schema
    from dpfit.schema.kinds import Binary, Categorical, Date, Numeric
    from dpfit.sources import scan_batches, scan_csv, scan_parquet

    __version__: str

__all__ = [
    "AdaSSP",
    "Binary",
    "BoostedAdaSSP",
    "BoostedMean",
    "BudgetExceeded",
    "Categorical",
    "DPGradientDescent",
    "Date",
    "DpfitError",
    "ExactScoreWarning",
    "HiddenTargetWarning",
    "InsecureSeedWarning",
    "Ledger",
    "LedgerError",
    "LedgerWarning",
    "ModelFileError",
    "NotFiniteError",
    "Numeric",
    "ParameterError",
    "PrivateAdditiveRegression",
    "PrivateLinearRegression",
    "Schema",
    "SourceError",
    "TukeyEM",
    "__version__",
    "load",
    "plan",
    "scan_batches",
    "scan_csv",
    "scan_parquet",
]

_HOMES = {
    "PrivateAdditiveRegression": "dpfit.models.additive",
    "BudgetExceeded": "dpfit.exceptions",
    "DpfitError": "dpfit.exceptions",
    "ExactScoreWarning": "dpfit.exceptions",
    "HiddenTargetWarning": "dpfit.exceptions",
    "InsecureSeedWarning": "dpfit.exceptions",
    "Ledger": "dpfit.accounting.ledger",
    "LedgerError": "dpfit.exceptions",
    "LedgerWarning": "dpfit.exceptions",
    "ModelFileError": "dpfit.exceptions",
    "NotFiniteError": "dpfit.exceptions",
    "ParameterError": "dpfit.exceptions",
    "SourceError": "dpfit.exceptions",
    "PrivateLinearRegression": "dpfit.models.linear",
    "load": "dpfit.models.file",
    "plan": "dpfit.models.plan",
    "AdaSSP": "dpfit.paper",
    "BoostedAdaSSP": "dpfit.paper",
    "BoostedMean": "dpfit.paper",
    "DPGradientDescent": "dpfit.paper",
    "TukeyEM": "dpfit.paper",
    "Binary": "dpfit.schema.kinds",
    "Categorical": "dpfit.schema.kinds",
    "Date": "dpfit.schema.kinds",
    "Numeric": "dpfit.schema.kinds",
    "Schema": "dpfit.schema",
    "scan_batches": "dpfit.sources",
    "scan_csv": "dpfit.sources",
    "scan_parquet": "dpfit.sources",
}

# Type checkers see the imports above instead, and report unknown names.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        import importlib

        if name == "__version__":
            from importlib.metadata import version

            found = version("dpfit")
        elif name in _HOMES:
            found = getattr(importlib.import_module(_HOMES[name]), name)
        elif name.startswith("__"):
            raise AttributeError(f"module 'dpfit' has no attribute {name!r}")
        else:
            try:
                return importlib.import_module(f"dpfit.{name}")
            except ModuleNotFoundError as error:
                if error.name != f"dpfit.{name}":
                    raise
            raise AttributeError(f"module 'dpfit' has no attribute {name!r}")
        globals()[name] = found
        return found

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
