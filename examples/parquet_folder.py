"""Private regression on a folder of Parquet files that is larger than the memory limit."""

import pathlib
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dpfit import PrivateLinearRegression, scan_parquet

FILES, ROWS, COLUMNS = 8, 50_000, 12

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    rng = np.random.default_rng(0)
    for part in range(FILES):
        X = rng.normal(size=(ROWS, COLUMNS))
        y = X @ np.arange(COLUMNS) + rng.normal(size=ROWS)
        columns = {f"x{i}": X[:, i] for i in range(COLUMNS)}
        pq.write_table(pa.table({**columns, "y": y}), folder / f"part-{part}.parquet")

    # With eight bytes per value, the table has 42 MB. Rows beyond the limit go to temporary files.
    rows = scan_parquet(folder, target="y", memory_limit="10MB")
    model = PrivateLinearRegression(epsilon=1.0, verbose=True).fit(rows)
    print(model.summary())
    print(model.privacy_.statement())

    predictions = model.predict(scan_parquet(folder / "part-0.parquet"))
    print("First predictions:", predictions[:3].round(2))
