"""Exact sums over rows, and the tables that can be summed.

One class is one statistic: it knows its name, how to sum a part of a table, its sensitivity, what
one step of its integers is, and how the noisy integers become a public value.
"""

from dpfit.statistics.bins import Bins, EqualBins, PowerBins
from dpfit.statistics.counts import Histograms, ResidualCounts, RowCount, ScoreCounts
from dpfit.statistics.moments import (
    Gram,
    MappedGram,
    ScoreProducts,
    SmallestEigenvalue,
    WeightSum,
)
from dpfit.statistics.residuals import (
    MOST_REACH,
    ClippedGradients,
    Gradient,
    ResidualSums,
    SquaredResiduals,
)
from dpfit.statistics.row_map import LevelColumn, RampColumn, Route, RowMap, Scale
from dpfit.statistics.statistic import Component, Relation, Statistic
from dpfit.statistics.table import StoredTable, Table
from dpfit.statistics.weighted import (
    WeightedCounts,
    WeightedPredictions,
    WeightedSquares,
    WeightedSums,
    WeightedTotal,
)

__all__ = [
    "MOST_REACH",
    "Bins",
    "ClippedGradients",
    "Component",
    "EqualBins",
    "Gradient",
    "Gram",
    "Histograms",
    "LevelColumn",
    "MappedGram",
    "PowerBins",
    "RampColumn",
    "Relation",
    "ResidualCounts",
    "ResidualSums",
    "Route",
    "RowCount",
    "RowMap",
    "Scale",
    "ScoreCounts",
    "ScoreProducts",
    "SmallestEigenvalue",
    "SquaredResiduals",
    "Statistic",
    "StoredTable",
    "Table",
    "WeightSum",
    "WeightedCounts",
    "WeightedPredictions",
    "WeightedSquares",
    "WeightedSums",
    "WeightedTotal",
]
