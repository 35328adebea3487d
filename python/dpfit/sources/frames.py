"""Frames in memory: pandas, polars, Arrow tables and others that narwhals supports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from dpfit._typing import Array, Floats
from dpfit.exceptions import Code, ParameterError, SourceError
from dpfit.schema import Binary, Categorical, Date, Kind, Numeric
from dpfit.schema.kinds import about
from dpfit.sources.columns import encode_array, encode_arrow
from dpfit.sources.objects import from_objects
from dpfit.sources.problems import lengths_differ, mixed_types, same_name_twice, text_columns
from dpfit.sources.roles import Roles, feature_places
from dpfit.sources.shield import shielded
from dpfit.sources.source import INTERVAL_COLUMNS, LocalSource, Read, rows_in_batch
from dpfit.sources.units import dtype_of, series_units, unit_ids
from dpfit.sources.weights import weight_values, with_weights

if TYPE_CHECKING:
    import narwhals as nw
    import pyarrow as pa

__all__ = [
    "FrameSource",
    "arrow_table",
    "as_frame",
    "encode_series",
]


def as_frame(table: Any) -> nw.DataFrame[Any] | None:
    """Return a frame as a narwhals DataFrame, None for anything else. Collect a lazy frame."""
    import narwhals as nw

    found = _as_narwhals(table)
    if isinstance(found, nw.LazyFrame):
        return shielded(found.collect, _not_collected)
    return found


def _as_narwhals(table: Any) -> nw.DataFrame[Any] | nw.LazyFrame[Any] | None:
    import narwhals as nw
    import narwhals.exceptions

    if table is None:
        return None
    refused = (narwhals.exceptions.NarwhalsError, ValueError)
    found: Any = shielded(
        lambda: nw.from_native(table, pass_through=True), lambda _: same_name_twice(), refused
    )
    return found if isinstance(found, nw.DataFrame | nw.LazyFrame) else None


def _not_collected(_: Exception) -> SourceError:
    hint = "call its collect() to see why"
    return SourceError("the lazy frame cannot be computed", code=Code.FAILED, hint=hint)


class FrameSource(LocalSource):
    """Rows of a frame. Columns of numbers are not copied.

    Parameters
    ----------
    frame : narwhals DataFrame
        The frame.
    target : str or array, optional
        The target: the name of a column, or one value for each row.
    unit : str or array-like, optional
        The person that each row belongs to: the name of a column, or one value for each row.
    weight : str or array-like, optional
        The weight of each row: the name of a column, or one value for each row.
    """

    def __init__(
        self, frame: nw.DataFrame[Any], target: Any = None, unit: Any = None, weight: Any = None
    ) -> None:
        names = list(frame.columns)
        self._frame, self._rows = frame, len(frame)
        self._target, self._unit, self._weight = target, unit, weight
        self._places = feature_places(names, target, unit, weight)
        if isinstance(target, str):
            self._target = frame[:, names.index(target)]
        elif target is not None and len(target) != self._rows:
            raise lengths_differ()
        if isinstance(unit, str):
            self._unit = frame[:, names.index(unit)]
        elif unit is not None:
            self._unit = unit_ids(unit, self._rows)
        if isinstance(weight, str):
            self._weight = frame[:, names.index(weight)]
        elif weight is not None:
            self._weight = weight_values(weight, self._rows)
        self._series = [frame[:, place] for place in self._places]
        named = all(isinstance(name, str) for name in names)
        self.names = [names[place] for place in self._places] if named else None
        self.declared = [_declared(series) for series in self._series]

    @staticmethod
    def matches(table: Any) -> bool:
        """Return whether narwhals supports the table."""
        return _as_narwhals(table) is not None

    @classmethod
    def open(cls, table: Any, roles: Roles) -> Self:
        """Return the frame as a source of rows."""
        frame = as_frame(table)
        if frame is None:
            raise SourceError("expected a frame", code=Code.INVALID)
        ignored = roles.ignored(frame.columns)
        return cls(
            frame.drop(ignored) if ignored else frame, roles.target, roles.unit, roles.weight
        )

    def read(self, kinds: Sequence[Kind]) -> Iterator[Read]:
        """Read all rows, batch by batch."""
        self._refuse_strings(kinds)
        step = rows_in_batch(self.columns)
        for start in range(0, self._rows, step):
            stop = min(start + step, self._rows)
            columns = [
                encode_series(series[start:stop], kind, self.label(place))
                for place, (series, kind) in enumerate(zip(self._series, kinds, strict=True))
            ]
            target = np.zeros(stop - start)
            if self._target is not None:
                target = _numbers(self._target[start:stop])
            if self._weight is not None:
                weights = _numbers(self._weight[start:stop])
                columns, target = with_weights(columns, target, weights)
            yield Read(columns, target, self._units(start, stop))

    def _refuse_strings(self, kinds: Sequence[Kind]) -> None:
        """Raise an error that names all columns whose type is a string and that have no levels."""
        import narwhals as nw

        names = [
            self.label(place)
            for place, (series, kind) in enumerate(zip(self._series, kinds, strict=True))
            if not (kind.accepts_strings or kind.is_date or _contains_objects(series))
            and dtype_of(series) == nw.String
        ]
        if names:
            raise text_columns(*names)

    def _units(self, start: int, stop: int) -> Any:
        import narwhals as nw

        if self._unit is None:
            return None
        part = self._unit[start:stop]
        return series_units(part) if isinstance(part, nw.Series) else part

    def wrap(self, predictions: Floats) -> Any:
        """Return predictions; with intervals, as a frame of the same library."""
        import narwhals as nw

        if predictions.ndim == 1:
            return predictions
        backend = self._frame.implementation
        columns = dict(zip(INTERVAL_COLUMNS, predictions.T.copy(), strict=True))
        found: Any = nw.from_dict(columns, backend=backend).to_native()
        if backend.is_pandas_like():
            found.index = self._frame.to_native().index
        return found


def _numbers(part: Any) -> Array:
    """Return a part of a target or of weights as numbers, which an array contains already."""
    import narwhals as nw

    if isinstance(part, nw.Series):
        return encode_series(part, None, part.name)
    found: Array = part
    return found


def encode_series(series: nw.Series[Any], kind: Kind | None, name: str) -> Array:
    """Return a column as numbers that the core reads, without a copy if it has them already."""
    values = _column(series, name)
    if isinstance(values, np.ndarray):
        return encode_array(values, kind, name)
    return encode_arrow(values, kind, name)


def _column(series: nw.Series[Any], name: str) -> Any:
    """Return numbers and objects as a NumPy array, other columns as an Arrow array."""
    if _contains_objects(series):
        # narwhals would infer their type from the values.
        return series.to_native().to_numpy()
    return shielded(lambda: _numpy_or_arrow(series), lambda _: mixed_types(name))


def _numpy_or_arrow(series: nw.Series[Any]) -> Any:
    import narwhals as nw
    import pyarrow as pa

    dtype = dtype_of(series)
    native = series.to_native()
    if dtype == nw.Unknown and hasattr(getattr(native, "dtype", None), "pyarrow_dtype"):
        # A type of Arrow in pandas that narwhals does not know, and would ask for again.
        return pa.array(native, from_pandas=True)
    if dtype.is_integer() or dtype.is_float() or dtype in (nw.Boolean, nw.Object, nw.Unknown):
        values = series.to_numpy()
        if values.dtype.kind in "iufb" or dtype == nw.Object:
            return values
    return series.to_arrow()


def arrow_table(frame: nw.DataFrame[Any]) -> pa.Table:
    """Return a frame as an Arrow table, without the index of pandas, which is not a column."""
    import narwhals as nw
    import pyarrow as pa

    plain = nw.maybe_reset_index(frame)
    objects = [name for name in plain.columns if _contains_objects(plain[name])]
    if not objects:
        return plain.to_arrow()
    rest = plain.drop(objects)
    # An Arrow table without columns has no rows.
    found = dict(zip(rest.columns, rest.to_arrow().columns, strict=True)) if rest.columns else {}
    for name in objects:
        found[name] = pa.array(from_objects(plain[name].to_native(), name))
    return pa.table({name: found[name] for name in plain.columns})


def _contains_objects(series: nw.Series[Any]) -> bool:
    """Return whether a column contains Python objects, in pandas and similar libraries."""
    native = getattr(series.to_native(), "dtype", None)
    return bool(series.implementation.is_pandas_like() and native == np.dtype(object))


def _declared(series: nw.Series[Any]) -> Kind | None:
    import narwhals as nw

    if _contains_objects(series):
        return None
    native = getattr(series.to_native(), "dtype", None)
    dtype = dtype_of(series)
    if dtype == nw.Boolean:
        return Binary()
    if isinstance(dtype, nw.Enum | nw.Categorical):
        # In polars and Arrow, a type without a list of levels has the levels of its rows.
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
        problem = about(error, f"column {name!r}", name)
    raise problem
