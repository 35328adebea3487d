"""Differentially private regression that a person can trust and need not tune."""

from importlib.metadata import version

from dpfit.exceptions import (
    BudgetExceeded,
    DpfitError,
    InsecureSeedWarning,
    NotFiniteError,
    ParameterError,
)
from dpfit.paper import AdaSSP, BoostedAdaSSP, BoostedMean, DPGradientDescent, TukeyEM

__all__ = [
    "AdaSSP",
    "BoostedAdaSSP",
    "BoostedMean",
    "BudgetExceeded",
    "DPGradientDescent",
    "DpfitError",
    "InsecureSeedWarning",
    "NotFiniteError",
    "ParameterError",
    "TukeyEM",
    "__version__",
]

__version__ = version("dpfit")
