"""Frames in memory: pandas, polars, Arrow tables and all others that narwhals understands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfit.exceptions import ParameterError, SourceError
from dpfit.schema import Binary, Categorical, Date, Kind, Numeric
from dpfit.sources.columns import encode_array, encode_arrow
from dpfit.sources.objects import from_objects, several_types_problem
from dpfit.sources.source import Floats, LocalSource, Read, rows_in_batch
from dpfit.table import Array
from dpfit.units import owners

if TYPE_CHECKING:
    import narwhals as nw
    import pyarrow as pa

__all__ = [
    "FrameSource",
    "arrow_table",
    "as_frame",
    "encode_series",
    "feature_places",
    "unit_values",
]


def as_frame(table: Any) -> nw.DataFrame[Any] | None:
    """Return a frame in memory as narwhals sees it, None for anything else."""
    import narwhals as nw
    import narwhals.exceptions

    if table is None:
        return None
    try:
        found = nw.from_native(table, pass_through=True)
    except (narwhals.exceptions.NarwhalsError, ValueError):
        found = None
    if found is None:
        raise SourceError("two columns of the table have the same name")
    if isinstance(found, nw.LazyFrame):
        found = _collected(found)
    return found if isinstance(found, nw.DataFrame) else None


def _collected(frame: nw.LazyFrame[Any]) -> nw.DataFrame[Any]:
    try:
        return frame.collect()
    except Exception:  # of any library, and of its functions
        pass
    # Raised out here, so that the first error, which may show values, is not attached.
    raise SourceError("the lazy frame cannot be computed; its own collect() says why")


class FrameSource(LocalSource):
    """Rows of a frame. Columns of numbers are looked at where they are.

    Parameters
    ----------
    frame : narwhals DataFrame
        The frame.
    target : str or array, optional
        The name of its column that is the target, or the target.
    unit : str or array-like, optional
        The name of its column that says whose row it is, or that itself.
    """

    def __init__(self, frame: nw.DataFrame[Any], target: Any = None, unit: Any = None) -> None:
        names = list(frame.columns)
        self._frame, self._rows = frame, len(frame)
        self._target, self._unit = target, unit
        self._places = feature_places(names, target, unit)
        if isinstance(target, str):
            self._target = frame[:, names.index(target)]
        elif target is not None and len(target) != self._rows:
            raise ParameterError("X and y must have the same number of rows")
        if isinstance(unit, str):
            self._unit = frame[:, names.index(unit)]
        elif unit is not None:
            self._unit = owners(unit, self._rows)
        self._series = [frame[:, place] for place in self._places]
        texts = all(isinstance(name, str) for name in names)
        self.names = [names[place] for place in self._places] if texts else None
        self.declared = [_declared(series) for series in self._series]

    def read(self, kinds: Sequence[Kind]) -> Iterator[Read]:
        """Read all rows, batch by batch."""
        step = rows_in_batch(self.columns)
        for start in range(0, self._rows, step):
            stop = min(start + step, self._rows)
            columns = [
                encode_series(series[start:stop], kind, self.label(place))
                for place, (series, kind) in enumerate(zip(self._series, kinds, strict=True))
            ]
            yield Read(columns, self._targets(start, stop), self._owners(start, stop))

    def _targets(self, start: int, stop: int) -> Array:
        import narwhals as nw

        if self._target is None:
            return np.zeros(stop - start)
        part = self._target[start:stop]
        return encode_series(part, None, part.name) if isinstance(part, nw.Series) else part

    def _owners(self, start: int, stop: int) -> Any:
        import narwhals as nw

        if self._unit is None:
            return None
        part = self._unit[start:stop]
        if not isinstance(part, nw.Series):
            return part
        return unit_values(part)

    def wrap(self, predictions: Floats) -> Any:
        """Return a series of the frame's own library."""
        import narwhals as nw

        backend = self._frame.implementation
        series = nw.new_series("prediction", predictions, backend=backend).to_native()
        native = self._frame.to_native()
        if backend.is_pandas_like():
            series.index = native.index
        return series


def taken(name: Any, names: Sequence[Any], what: str) -> int | None:
    """Return the place of the column that is taken out of the features, if it is one by name."""
    if not isinstance(name, str):
        return None
    if name not in names:
        raise ParameterError(f"the table has no column {name!r} to be the {what}")
    return list(names).index(name)


def feature_places(names: Sequence[Any], target: Any, unit: Any) -> list[int]:
    """Return the places of the columns that are neither target nor unit, which may be names."""
    if len(set(names)) < len(names):
        raise SourceError("two columns of the table have the same name")
    aside = [taken(name, names, what) for name, what in ((target, "target"), (unit, "unit"))]
    if aside[0] is not None and aside[0] == aside[1]:
        raise ParameterError("the target cannot be the unit")
    places = [place for place in range(len(names)) if place not in aside]
    if not places:
        raise ParameterError(
            "Found array with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required."
        )
    return places


def unit_values(series: nw.Series[Any]) -> Any:
    """Return whose row it is, as :func:`dpfit.units.owners` takes it."""
    return series.to_numpy() if series.dtype.is_integer() else series.to_list()


def encode_series(series: nw.Series[Any], kind: Kind | None, name: str) -> Array:
    """Return a column as numbers that the core reads; a view if it holds such."""
    values = _column(series, name)
    if isinstance(values, np.ndarray):
        return encode_array(values, kind, name)
    return encode_arrow(values, kind, name)


def _column(series: nw.Series[Any], name: str) -> Any:
    """Return a column as an array of NumPy if it is one of numbers or objects, else of Arrow."""
    import narwhals as nw

    if _holds_objects(series):
        # narwhals would look at values to tell their type.
        return series.to_native().to_numpy()
    dtype = series.dtype
    try:
        if dtype.is_integer() or dtype.is_float() or dtype in (nw.Boolean, nw.Object, nw.Unknown):
            values = series.to_numpy()
            if values.dtype.kind in "iufb" or dtype == nw.Object:
                return values
        return series.to_arrow()
    except Exception:  # of any library, for types that it does not have
        pass
    # Raised out here, so that the first error, which may show values, is not attached.
    raise ParameterError(several_types_problem(name))


def arrow_table(frame: nw.DataFrame[Any]) -> pa.Table:
    """Return a frame as a table of Arrow, without the index of pandas, which is no column."""
    import narwhals as nw
    import pyarrow as pa

    plain = nw.maybe_reset_index(frame)
    objects = [name for name in plain.columns if _holds_objects(plain[name])]
    if not objects:
        return plain.to_arrow()
    rest = plain.drop(objects)
    # Without a column there would be no rows.
    table = rest.to_arrow() if rest.columns else None
    found = {
        name: pa.array(from_objects(plain[name].to_native(), name)) if name in objects else None
        for name in plain.columns
    }
    columns = {
        name: column if column is not None or table is None else table.column(name)
        for name, column in found.items()
    }
    return pa.table(columns)


def _holds_objects(series: nw.Series[Any]) -> bool:
    """Return whether a column is one of Python's objects, in pandas and the like."""
    native = getattr(series.to_native(), "dtype", None)
    return bool(series.implementation.is_pandas_like() and native == np.dtype(object))


def _declared(series: nw.Series[Any]) -> Kind | None:
    import narwhals as nw

    if _holds_objects(series):
        return None
    native = getattr(series.to_native(), "dtype", None)
    dtype = series.dtype
    if dtype == nw.Boolean:
        return Binary()
    if isinstance(dtype, nw.Enum | nw.Categorical):
        # Those of polars and Arrow without a list of levels have the levels of their rows.
        levels = list(getattr(native, "categories", ()))
        if series.implementation.is_polars() and not isinstance(dtype, nw.Enum):
            levels = []
        if all(isinstance(level, str | int) for level in levels):
            return _levels(levels, series.name)
        return Numeric()
    if dtype == nw.Date or isinstance(dtype, nw.Datetime):
        return Date()
    return None if dtype == nw.String else Numeric()


def _levels(levels: list[Any], name: str) -> Categorical | None:
    if not levels:
        return None
    try:
        return Categorical(tuple(levels))
    except ParameterError as error:
        problem = str(error)
    raise ParameterError(f"column {name!r}: {problem}")
