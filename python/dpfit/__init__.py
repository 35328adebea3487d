"""Differentially private regression that a person can trust and need not tune."""

from importlib.metadata import version

from dpfit.additive import PrivateAdditiveRegression
from dpfit.exceptions import (
    BudgetExceeded,
    DpfitError,
    InsecureSeedWarning,
    NotFiniteError,
    ParameterError,
)
from dpfit.linear import PrivateLinearRegression
from dpfit.paper import AdaSSP, BoostedAdaSSP, BoostedMean, DPGradientDescent, TukeyEM
from dpfit.schema import Binary, Numeric, Schema

__all__ = [
    "AdaSSP",
    "Binary",
    "BoostedAdaSSP",
    "BoostedMean",
    "BudgetExceeded",
    "DPGradientDescent",
    "DpfitError",
    "InsecureSeedWarning",
    "NotFiniteError",
    "Numeric",
    "ParameterError",
    "PrivateAdditiveRegression",
    "PrivateLinearRegression",
    "Schema",
    "TukeyEM",
    "__version__",
]

__version__ = version("dpfit")
