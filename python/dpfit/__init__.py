"""Differentially private regression that a person can trust and need not tune."""

from importlib.metadata import version

from dpfit.exceptions import (
    BudgetExceeded,
    DpfitError,
    InsecureSeedWarning,
    NotFiniteError,
    ParameterError,
)

__all__ = [
    "BudgetExceeded",
    "DpfitError",
    "InsecureSeedWarning",
    "NotFiniteError",
    "ParameterError",
    "__version__",
]

__version__ = version("dpfit")
