"""Private regression on a Dask table: two workers have the rows, this process adds the noise.

The workers generate the table in eight parts, which never reach this process. The noise is real:
each run gives different private numbers.
"""

import dask.dataframe as dd
import numpy as np
import pandas as pd
from dask.distributed import Client, LocalCluster

from dpfit import Numeric, PrivateLinearRegression, Schema

CITIES = ["Bern", "Oslo", "Rome"]
ROWS, PARTS = 25_000, 8


def homes(part: int) -> pd.DataFrame:
    """Return one part of the table: size, year, city and price."""
    rng = np.random.default_rng(part)
    size = rng.uniform(20, 200, ROWS)
    year = rng.integers(1900, 2025, ROWS)
    city = rng.integers(0, 3, ROWS)
    price = 3_000 * size + 400 * (year - 1960) + np.array([40_000, 60_000, 0])[city]
    price += rng.normal(0, 25_000, ROWS)
    names = pd.Categorical.from_codes(city, CITIES)
    return pd.DataFrame({"size": size, "year": year, "city": names, "price": price})


def main() -> None:
    table = dd.from_map(homes, range(PARTS), meta=homes(0)[:0])
    # The dtype of the city column declares its levels. The bounds of the year are public, too.
    schema = Schema({"year": Numeric(1900, 2025)})
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster),
    ):
        model = PrivateLinearRegression(epsilon=1.0, schema=schema).fit(table, "price")
        print(model.summary())
        predictions = model.predict(table)
        error = ((table["price"] - predictions) ** 2).mean().compute() ** 0.5
    print(f"\nRoot mean squared error (not private): {error:,.0f}")
    print(model.privacy_.statement())


if __name__ == "__main__":
    main()
