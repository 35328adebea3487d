"""Public knowledge about the columns of a table."""

from dpfit.schema.indicators import Indicators
from dpfit.schema.kinds import Binary, Categorical, Date, Kind, Level, Numeric, terms
from dpfit.schema.schema import Schema

__all__ = [
    "Binary",
    "Categorical",
    "Date",
    "Indicators",
    "Kind",
    "Level",
    "Numeric",
    "Schema",
    "terms",
]
