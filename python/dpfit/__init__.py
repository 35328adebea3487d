"""Differentially private regression that a person can trust and need not tune.

Names are imported when they are first used, so that the command line answers at once and a program
that wants the accountant alone does not wait for scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dpfit.additive import PrivateAdditiveRegression
    from dpfit.exceptions import (
        BudgetExceeded,
        DpfitError,
        InsecureSeedWarning,
        ModelFileError,
        NotFiniteError,
        ParameterError,
        SourceError,
    )
    from dpfit.linear import PrivateLinearRegression
    from dpfit.model_file import load
    from dpfit.paper import AdaSSP, BoostedAdaSSP, BoostedMean, DPGradientDescent, TukeyEM
    from dpfit.schema import Binary, Categorical, Date, Numeric, Schema
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
    "InsecureSeedWarning",
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
    "scan_batches",
    "scan_csv",
    "scan_parquet",
]

_HOMES = {
    "PrivateAdditiveRegression": "dpfit.additive",
    "BudgetExceeded": "dpfit.exceptions",
    "DpfitError": "dpfit.exceptions",
    "InsecureSeedWarning": "dpfit.exceptions",
    "ModelFileError": "dpfit.exceptions",
    "NotFiniteError": "dpfit.exceptions",
    "ParameterError": "dpfit.exceptions",
    "SourceError": "dpfit.exceptions",
    "PrivateLinearRegression": "dpfit.linear",
    "load": "dpfit.model_file",
    "AdaSSP": "dpfit.paper",
    "BoostedAdaSSP": "dpfit.paper",
    "BoostedMean": "dpfit.paper",
    "DPGradientDescent": "dpfit.paper",
    "TukeyEM": "dpfit.paper",
    "Binary": "dpfit.schema",
    "Categorical": "dpfit.schema",
    "Date": "dpfit.schema",
    "Numeric": "dpfit.schema",
    "Schema": "dpfit.schema",
    "scan_batches": "dpfit.sources",
    "scan_csv": "dpfit.sources",
    "scan_parquet": "dpfit.sources",
}

# Type checkers know the names from above, and find a wrong one.
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
