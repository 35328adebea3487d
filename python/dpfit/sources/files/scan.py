"""Scans: tables that are read once, in Arrow batches, and kept in a spool to be read again."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self, TypeAlias

import numpy as np

from dpfit._typing import Array
from dpfit.exceptions import Code, ParameterError, SourceError
from dpfit.schema import Binary, Date, Kind, Numeric
from dpfit.sources.columns import encode_arrow, is_date_type, is_string_type, type_name
from dpfit.sources.files.delimiters import delimiter_hint, likely_delimiter
from dpfit.sources.files.spool import Spool
from dpfit.sources.problems import date_column, no_column
from dpfit.sources.roles import Roles, feature_places
from dpfit.sources.source import LocalSource, Read, no_rows
from dpfit.sources.units import arrow_units
from dpfit.sources.weights import with_weights

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "MEMORY_LIMIT",
    "ReadKind",
    "Reader",
    "Scan",
    "ScanSource",
    "arrow_kind",
    "same_columns",
]

# How much memory a fit may use for the rows of a scan.
MEMORY_LIMIT = "1GB"
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b\s*", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_LEAST_LIMIT = 1_000_000

# What a column is read as: a feature or target, a unit, or strings to copy unchanged.
ReadKind: TypeAlias = Kind | Literal["unit", "text"]


class Reader(Protocol):
    """Reads batches of a table."""

    def schema(self) -> pa.Schema:
        """Return names and types of all columns, and read as little as possible."""

    def read(self, names: Sequence[str], kinds: Sequence[ReadKind]) -> Iterator[pa.RecordBatch]:
        """Read these columns of all rows.

        Privacy
        -------
        All errors are errors of dpfit and contain no value of the data.
        """


class Scan:
    """A table that is read when a model is fitted or predicts; see `dpfit.scan_parquet`."""

    def __init__(
        self,
        reader: Reader,
        target: str | None,
        memory_limit: int | str,
        without: Sequence[str] = (),
    ) -> None:
        if target is not None and not isinstance(target, str):
            raise ParameterError("target must be the name of a column", subject="target")
        if isinstance(without, str) or not all(isinstance(name, str) for name in without):
            raise ParameterError(
                "without must be a list of column names", subject="without", hint='use ["name"]'
            )
        self.reader = _ReaderWithoutColumns(reader, without) if without else reader
        self.target = target
        self.memory_limit = size_in_bytes(memory_limit)

    def __repr__(self) -> str:
        return f"<dpfit scan of {self.reader!r}>"


class _ReaderWithoutColumns:
    """A reader that leaves columns out."""

    def __init__(self, reader: Reader, names: Sequence[str]) -> None:
        self._reader, self._names = reader, list(names)

    def __repr__(self) -> str:
        return repr(self._reader)

    def schema(self) -> pa.Schema:
        import pyarrow as pa

        found = self._reader.schema()
        for name in self._names:
            if name not in found.names:
                raise no_column(name, "to leave out", found.names)
        return pa.schema(field for field in found if field.name not in self._names)

    def read(self, names: Sequence[str], kinds: Sequence[ReadKind]) -> Iterator[pa.RecordBatch]:
        return self._reader.read(names, kinds)


def size_in_bytes(size: int | str) -> int:
    """Return a size such as "500MB", or a number, as bytes."""
    found = _SIZE.fullmatch(size) if isinstance(size, str) else None
    if found is not None:
        size = int(float(found[1]) * (1024 if found[3] else 1000) ** _POWERS[found[2].lower()])
    if not isinstance(size, int) or isinstance(size, bool) or size < _LEAST_LIMIT:
        raise ParameterError(
            'memory_limit must be at least one megabyte, for example "500MB"',
            subject="memory_limit",
        )
    return size


class ScanSource(LocalSource):
    """The rows of a scan.

    The scan is read once. Half of the memory limit is for the columns, which are kept until their
    ranges are known, and half for the quantised rows, which all later passes use. What exceeds the
    limit goes to temporary files without a name.

    Parameters
    ----------
    scan : Scan
        The table.
    roles : Roles
        What its columns are for; target, unit and weight are names.
    """

    def __init__(self, scan: Scan, roles: Roles) -> None:
        roles.require_names("target", "unit", "weight")
        self._scan, self._target, self._unit = scan, roles.target, roles.unit
        self._weight = roles.weight
        schema = scan.reader.schema()
        columns = schema.names
        if len(columns) == 1:
            self._check_delimiter(columns[0])
        places = feature_places(columns, self._target, self._unit, self._weight)
        for name in roles.names or ():
            if name not in columns:
                raise no_column(name, known=columns)
        self.names = list(roles.names or [columns[place] for place in places])
        self.declared = [arrow_kind(schema.field(name).type) for name in self.names]
        self._spool: Spool | None = None

    @staticmethod
    def matches(table: Any) -> bool:
        """Return whether the table is a scan."""
        return isinstance(table, Scan)

    @classmethod
    def open(cls, table: Any, roles: Roles) -> Self:
        """Return the scan as a source of rows. A fit that names no target uses the scan's."""
        target = roles.target
        if target is None and not roles.names:
            target = table.target
        return cls(table, dataclasses.replace(roles, target=target))

    def _check_delimiter(self, column: str) -> None:
        """Raise an error if the table seems to have one column because of a wrong delimiter."""
        likely = likely_delimiter(column)
        roles = (("target", self._target), ("unit", self._unit), ("weight", self._weight))
        for role, name in roles:
            if likely is not None and name is not None and name != column:
                raise ParameterError(
                    no_column(name, f"to use as the {role}").message,
                    code=Code.DELIMITER,
                    subject=likely,
                    hint=delimiter_hint(likely),
                )

    @property
    def store_limit(self) -> int:
        """Bytes of memory for the quantised rows."""
        return self._scan.memory_limit // 2

    def read(self, kinds: Sequence[Kind]) -> Iterator[Read]:
        """Read all rows: the first time from the scan, then from the spool."""
        if self._spool is not None:
            yield from self._spool
            return
        spool = Spool(self._scan.memory_limit // 2)
        try:
            for batch in self.read_once(kinds):
                spool.add(batch)
                yield batch
        except BaseException:
            spool.close()
            raise
        self._spool = spool

    def read_once(self, kinds: Sequence[Kind]) -> Iterator[Read]:
        """Read all rows from the scan."""
        assert self.names is not None
        places = dict(zip(self.names, kinds, strict=True))
        columns: dict[str, ReadKind] = {**places}
        for name in (self._target, self._weight):
            if name is not None:
                columns[name] = Numeric()
        if self._unit is not None:
            columns[self._unit] = "unit"
        for batch in self._scan.reader.read(list(columns), list(columns.values())):
            if not len(batch):
                continue
            features = [
                _encoded_feature(batch.column(name), kind, name) for name, kind in places.items()
            ]
            target = np.zeros(len(batch))
            if self._target is not None:
                target = encode_arrow(batch.column(self._target), None, self._target)
            if self._weight is not None:
                weights = encode_arrow(batch.column(self._weight), None, self._weight)
                features, target = with_weights(features, target, weights)
            units = None if self._unit is None else arrow_units(batch.column(self._unit))
            yield Read(features, target, units)

    def predict(self, kinds: Sequence[Kind], predictor: Any) -> Any:
        """Return predictions for all rows, without keeping rows."""
        parts = [predictor(batch.columns) for batch in self.read_once(kinds)]
        return np.concatenate(parts or [predictor(no_rows(kinds))])

    def close(self) -> None:
        """Delete the rows that were read."""
        if self._spool is not None:
            self._spool.close()


def _encoded_feature(values: pa.Array, kind: Kind, name: str) -> Array:
    """Return a feature as numbers.

    Privacy
    -------
    The type of one part of a table, or the values of a CSV file, cannot turn a column into dates.
    Types that contain no value (null) are compatible with all others, and a CSV file has no types;
    so one row more or less could decide it. Only the schema, or the type in the first part, does.
    """
    if not kind.is_date and is_date_type(values.type):
        raise date_column(name)
    return encode_arrow(values, kind, name)


def arrow_kind(kind: pa.DataType) -> Kind | None:
    """Return the kind that a type declares, None for strings; null declares numbers at most."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        # The levels come from the rows, not from the type.
        kind = kind.value_type
    if pa.types.is_boolean(kind):
        return Binary()
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return Date()
    return None if _type_group(kind) == "strings" else Numeric()


def same_columns(first: pa.Schema, other: pa.Schema, where: str) -> None:
    """Check that a part of a table has the columns of the first part.

    Parameters
    ----------
    first, other : pyarrow.Schema
        The schemas of the first part and of another.
    where : str
        The other part, for messages.
    """
    for name in first.names:
        if name not in other.names:
            raise _columns_differ(f"{where} has no column {name!r}, unlike the first part", name)
        before, here = (_type_group(schema.field(name).type) for schema in (first, other))
        if before != here and "nothing" not in (before, here):
            problem = f"column {name!r} contains {here} in {where}, but {before} in the first part"
            raise _columns_differ(problem, name)
    for name in other.names:
        if name not in first.names:
            raise _columns_differ(f"{where} has a column {name!r}, unlike the first part", name)


def _columns_differ(message: str, name: str) -> SourceError:
    return SourceError(message, code=Code.COLUMNS_DIFFER, subject=name)


def _type_group(kind: pa.DataType) -> str:
    """Return the group of a type. Types of one group may differ between parts of a table."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _type_group(kind.value_type)
    if pa.types.is_null(kind):
        return "nothing"
    if pa.types.is_boolean(kind):
        # A kind of feature, unlike numbers.
        return "booleans"
    if pa.types.is_decimal(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "numbers"
    if is_string_type(kind):
        return "strings"
    return "dates" if pa.types.is_temporal(kind) else type_name(kind)
