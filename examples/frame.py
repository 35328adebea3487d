"""Fit, show, save, load and predict with a DataFrame of numbers, levels and booleans."""

import os
import tempfile

import numpy as np
import pandas as pd

import dpfit
from dpfit import Categorical, Numeric, PrivateAdditiveRegression, Schema

rng = np.random.default_rng(0)
rows = 30_000
patients = pd.DataFrame(
    {
        "age": rng.integers(18, 95, rows),
        "ward": rng.choice(["surgery", "heart", "children"], rows),
        "emergency": rng.random(rows) < 0.3,
        "pulse": rng.normal(75, 12, rows),
    }
)
patients["days"] = (
    2.0
    + 0.002 * np.maximum(patients.age - 50, 0) ** 1.5
    + 3.0 * (patients.ward == "heart")
    + 1.5 * patients.emergency
    + rng.gamma(2.0, 1.0, rows)
)

# Public knowledge: the wards of the hospital, and that no stay is longer than 60 days.
schema = Schema({"ward": Categorical(["surgery", "heart", "children"])}, target=Numeric(0, 60))
model = PrivateAdditiveRegression(epsilon=1.0, schema=schema).fit(patients, "days")
print(model.summary())
print(model.privacy_.statement())
print()
for ward, effect in zip(*model.curve("ward"), strict=True):
    print(f"{ward:>10}: {effect:+.2f} days")

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "stays.json")
    model.save(path)
    new = patients.head(3).drop(columns="days")
    print(dpfit.load(path).predict(new))
