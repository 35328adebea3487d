"""Rows that are read once, in batches of Arrow, and kept in a spool to be read again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

import numpy as np

from dpfit.exceptions import ParameterError, SourceError
from dpfit.schema import Binary, Date, Kind, Numeric
from dpfit.sources.columns import encode_arrow, type_name
from dpfit.sources.delimiters import delimiter_hint
from dpfit.sources.frames import taken
from dpfit.sources.source import LocalSource, Read
from dpfit.sources.spool import Spool

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ReadKind", "Reader", "Scan", "ScanSource", "arrow_kind", "same_columns"]

_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b\s*", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_LEAST_LIMIT = 1_000_000


# What a column is read as: what it is, whose row it is, or text that is copied.
ReadKind: TypeAlias = Kind | Literal["unit", "text"]


class Reader(Protocol):
    """Something that batches can be read from, once or more often."""

    def schema(self) -> pa.Schema:
        """Return names and types of all columns, from as little reading as possible."""

    def read(self, names: Sequence[str], kinds: Sequence[ReadKind]) -> Iterator[pa.RecordBatch]:
        """Read these columns, from the first row on.

        Privacy
        -------
        Errors are of dpfit, and hold no value that was read.
        """


class Scan:
    """Rows that are read when a model is fitted, or asked to predict; see `dpfit.scan_parquet`."""

    def __init__(
        self,
        reader: Reader,
        target: str | None,
        memory_limit: int | str,
        without: Sequence[str] = (),
    ) -> None:
        if target is not None and not isinstance(target, str):
            raise ParameterError("target must be the name of a column")
        if isinstance(without, str) or not all(isinstance(name, str) for name in without):
            raise ParameterError('without must be a list of names of columns, as ["name"]')
        self.reader = _Without(reader, without) if without else reader
        self.target = target
        self.memory_limit = size_in_bytes(memory_limit)

    def __repr__(self) -> str:
        return f"<dpfit scan of {self.reader!r}>"


class _Without:
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
                raise ParameterError(f"the table has no column {name!r} to leave out")
        return pa.schema(field for field in found if field.name not in self._names)

    def read(self, names: Sequence[str], kinds: Sequence[ReadKind]) -> Iterator[pa.RecordBatch]:
        return self._reader.read(names, kinds)


def size_in_bytes(size: int | str) -> int:
    """Return "500MB" or a number as bytes."""
    found = _SIZE.fullmatch(size) if isinstance(size, str) else None
    if found is not None:
        size = int(float(found[1]) * (1024 if found[3] else 1000) ** _POWERS[found[2].lower()])
    if not isinstance(size, int) or isinstance(size, bool) or size < _LEAST_LIMIT:
        raise ParameterError('memory_limit must be at least one megabyte, for example "500MB"')
    return size


class ScanSource(LocalSource):
    """The rows of a scan.

    They are read once. Half of the memory limit is for columns as they were read, which are
    looked at until ranges are known, and half for the quantised rows, which all later passes go
    over; what is beyond is in temporary files without a name.

    Parameters
    ----------
    scan : Scan
        What to read.
    target, unit : str, optional
        Names of columns that are no features.
    names : sequence of str, optional
        The features; all other columns by default.
    """

    def __init__(
        self,
        scan: Scan,
        target: str | None = None,
        unit: str | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        self._scan, self._target, self._unit = scan, target, unit
        schema = scan.reader.schema()
        if len(set(schema.names)) < len(schema.names):
            raise SourceError("two columns of the table have the same name")
        for name, what in ((target, "target"), (unit, "unit")):
            if len(schema.names) == 1 and name is not None and name not in schema.names:
                # A table of one column may be one of many, in one.
                hint = delimiter_hint(schema.names[0])
                raise ParameterError(f"the table has no column {name!r} to be the {what}{hint}")
            taken(name, schema.names, what)
        if target is not None and target == unit:
            raise ParameterError("the target cannot be the unit")
        for name in names or ():
            if name not in schema.names:
                raise ParameterError(f"the table has no column {name!r}")
        features = names or [name for name in schema.names if name not in (target, unit)]
        if not features:
            raise ParameterError("the table has no column but the target")
        self.names = list(features)
        self.declared = [arrow_kind(schema.field(name).type) for name in features]
        self._spool: Spool | None = None

    @property
    def store_limit(self) -> int:
        """Bytes that the quantised rows may have in memory."""
        return self._scan.memory_limit // 2

    def read(self, kinds: Sequence[Kind]) -> Iterator[Read]:
        """Read all rows: the first time from where they are, then from the spool."""
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
        """Read all rows from where they are."""
        assert self.names is not None
        places = dict(zip(self.names, kinds, strict=True))
        columns: dict[str, ReadKind] = {**places}
        if self._target is not None:
            columns[self._target] = Numeric()
        if self._unit is not None:
            columns[self._unit] = "unit"
        for batch in self._scan.reader.read(list(columns), list(columns.values())):
            if not len(batch):
                continue
            features = [
                encode_arrow(batch.column(name), kind, name) for name, kind in places.items()
            ]
            target = np.zeros(len(batch))
            if self._target is not None:
                target = encode_arrow(batch.column(self._target), None, self._target)
            yield Read(features, target, self._owners(batch))

    def _owners(self, batch: pa.RecordBatch) -> Any:
        import pyarrow as pa

        if self._unit is None:
            return None
        owners = batch.column(self._unit)
        whole = pa.types.is_integer(owners.type) and not owners.null_count
        return owners.to_numpy(zero_copy_only=False) if whole else owners.to_pylist()

    def predict(self, kinds: Sequence[Kind], predictor: Any) -> Any:
        """Return predictions of all rows. Nothing is kept of the rows."""
        parts = [predictor(batch.columns) for batch in self.read_once(kinds)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def close(self) -> None:
        """Forget what was read."""
        if self._spool is not None:
            self._spool.close()


def arrow_kind(kind: pa.DataType) -> Kind | None:
    """Return what a type says of a column, None for text."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        # The levels are those of the rows, and not of the type.
        kind = kind.value_type
    if pa.types.is_boolean(kind):
        return Binary()
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return Date()
    return None if _sort(kind) == "text" else Numeric()


def same_columns(
    first: pa.Schema, other: pa.Schema, names: Sequence[str] | None, where: str
) -> None:
    """Check that a part of a table has the columns of the first part.

    Parameters
    ----------
    first, other : Schema
        Of the first part and of another.
    names : sequence of str or None
        The columns that are read; None for all.
    where : str
        The other part, for messages.
    """
    for name in names if names is not None else first.names:
        if name not in other.names:
            raise SourceError(f"{where} has no column {name!r}, unlike what was read before")
        kinds = [_sort(schema.field(name).type) for schema in (first, other)]
        if kinds[0] != kinds[1] and "nothing" not in kinds:
            raise SourceError(f"column {name!r} holds {kinds[1]} in {where}, and {kinds[0]} before")
    if extra := [name for name in other.names if name not in first.names]:
        raise SourceError(f"{where} has a column {extra[0]!r}, unlike what was read before")


def _sort(kind: pa.DataType) -> str:
    """Return what a type is, as far as it matters that parts of a table have the same."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return _sort(kind.value_type)
    if pa.types.is_null(kind):
        return "nothing"
    if pa.types.is_boolean(kind):
        # A feature of its own kind.
        return "booleans"
    if pa.types.is_decimal(kind) or pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "numbers"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "text"
    return "dates" if pa.types.is_temporal(kind) else type_name(kind)
