"""Write the table of the demo from plotnine's: ``python tools/make_demo_data.py``; needs plotnine.

Rows and their order stay the same. Categories become strings, because the list of categories in a
file comes from its rows.
"""

import pathlib

import pyarrow as pa
import pyarrow.parquet as pq
from plotnine.data import diamonds

FILE = pathlib.Path(__file__).parents[1] / "python/dpfit/data/diamonds.parquet"
STRINGS = ("cut", "color", "clarity")


def main() -> None:
    """Write the file."""
    columns = {}
    for name in diamonds.columns:
        if name in STRINGS:
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
