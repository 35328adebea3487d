# %% [markdown]
# # A folder of Parquet files
#
# A transport authority has a folder of Parquet files with trips, more than it wants to hold in memory, and publishes
# how the duration of a trip depends on distance, hour and kind of transport. The model is then used in a database.
#
# **The data are simulated** in the first cell: 1,000,000 trips in ten files. Each trip is protected. If a traveller
# makes many trips and is to be protected as a whole, add `unit=` as in [the hospital](hospital.md).
# [Download the notebook](parquet.ipynb).

# %%
import pathlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

folder = pathlib.Path("trips")
folder.mkdir()
rng = np.random.default_rng(5)
n = 100_000
for part in range(10):
    km = rng.gamma(2.0, 3.0, n)
    hour = rng.integers(0, 24, n)
    vehicle = rng.integers(0, 5_000, n)
    rush = np.exp(-((hour - 8) ** 2) / 8) + np.exp(-((hour - 17.5) ** 2) / 12)
    kind = rng.choice(["bus", "car", "tram"], n)
    speed = 24 - 7 * rush + 6 * (kind == "car")
    minutes = 4 + 60 * km / speed + rng.gamma(2.0, 2.0, n)
    columns = {"km": km, "hour": hour, "vehicle": vehicle, "kind": kind, "minutes": minutes}
    pq.write_table(pa.table(columns), folder / f"part-{part}.parquet")
size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
print(f"{size:.0f} MB in {len(list(folder.iterdir()))} files")

# %% [markdown]
# ## Fit from the files
#
# The scan reads the files once, in pieces. Rows beyond `memory_limit` are kept in unnamed temporary files while the fit
# runs. A real table would have the default limit, 1 GB; here it is small, so that it matters. The number of the vehicle
# is not a feature, so it is left out and not even read. The last file is kept back for a test.

# %%
from dpfit import Categorical, Numeric, PrivateAdditiveRegression, Schema, scan_parquet

schema = Schema({"kind": Categorical(["bus", "car", "tram"]), "hour": Numeric(0, 23)})
rows = scan_parquet(
    "trips/part-[0-8].parquet", target="minutes", without=["vehicle"], memory_limit="20MB"
)
model = PrivateAdditiveRegression(epsilon=0.5, schema=schema).fit(rows)
print(model.summary())

# %% [markdown]
# ## Figure
#
# Rush hours are clearly visible, although ε is only 0.5: with 900,000 rows the confidence bands are hardly wider than
# the lines. A model of sums cannot show that rush hours matter more for long trips: that would be an interaction.

# %%
# Figure: Curves of distance, hour and kind of transport
figure = model.plot_curves()

# %% [markdown]
# ## Test on the last file, privately
#
# No trip is in both parts, so the test costs the training rows nothing.

# %%
found = model.evaluate(scan_parquet("trips/part-9.parquet"), "minutes", epsilon=0.5)
low, high = found.r2.interval(0.95)
print(f"R² = {found.r2.value:.3f}, 95 % interval {low:.3f} to {high:.3f}")
print(f"RMSE = {found.rmse.value:.2f} minutes")

# %% [markdown]
# ## Predict in a database
#
# The model as a query: DuckDB reads a Parquet file itself and predicts for its rows. A database may return rows in any
# order, so the check predicts for the rows as they came back. The results are those of `predict`, up to rounding.

# %%
import duckdb

query = model.to_sql("trips")
duckdb.sql("CREATE VIEW trips AS SELECT * FROM 'trips/part-9.parquet'")
in_database = duckdb.sql(query).df()
in_python = model.predict(in_database[["km", "hour", "kind"]])
assert np.allclose(in_database.prediction, in_python)
print(len(in_database), "predictions, the same as in Python")

# %% [markdown]
# ## What it cost

# %%
import textwrap

print(textwrap.fill(model.privacy_.statement().split("\n")[0], 100))
