"""Make the demo's table out of plotnine's: ``python tools/make_demo_data.py``; needs plotnine.

The same rows in the same order. Text
is text and not categories, because a file's list of categories is found in its rows.
"""

import pathlib

import pyarrow as pa
import pyarrow.parquet as pq
from plotnine.data import diamonds

FILE = pathlib.Path(__file__).parents[1] / "python/dpfit/data/diamonds.parquet"
TEXTS = ("cut", "color", "clarity")


def main() -> None:
    """Write the file."""
    columns = {}
    for name in diamonds.columns:
        if name in TEXTS:
            columns[name] = pa.array(diamonds[name].astype(str), pa.string())
        else:
            kind = pa.int32() if name == "price" else pa.float64()
            columns[name] = pa.array(diamonds[name].to_numpy(), kind)
    pq.write_table(
        pa.table(columns), FILE, compression="zstd", compression_level=19, row_group_size=1 << 20
    )
    print(f"{FILE.name}: {FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
