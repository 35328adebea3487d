"""Differentially private regression that a person can trust and need not tune."""

from importlib.metadata import version

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
from dpfit.schema import Binary, Categorical, Numeric, Schema
from dpfit.sources import scan_batches, scan_csv, scan_parquet

__all__ = [
    "AdaSSP",
    "Binary",
    "BoostedAdaSSP",
    "BoostedMean",
    "BudgetExceeded",
    "Categorical",
    "DPGradientDescent",
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

__version__ = version("dpfit")
