"""Models whose names and shapes are hard to show."""

import datetime

import numpy as np
import pandas as pd

from dpfit import (
    Binary,
    Categorical,
    Date,
    Ledger,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
)

SCRIPT = "<script>window.pwned = 1</script>"
IMAGE = "\"'><img src=https://example.com/x.png onerror='window.pwned = 2'>"
CJK = "東京都特別区の住宅価格と駅からの距離"
RIGHT_TO_LEFT = "\u202eעלות כוללת"
LONG = "a_very_long_name_without_spaces_" * 8
SENTENCE = "how many times the person has been in hospital since the study began, as reported"
NAMES = (SCRIPT, IMAGE, CJK, RIGHT_TO_LEFT, LONG, SENTENCE)
LEVELS = ("&lt;b&gt;", "</style><script>window.pwned = 3</script>", "大阪", LONG, "-", "d" * 40)


def table(rows=20_000):
    """Return a table with hostile names, and its target."""
    rng = np.random.default_rng(1)
    columns = {name: rng.normal(size=rows) for name in NAMES}
    columns["]]>"] = rng.choice(LEVELS[:5], size=rows)
    columns["flag & co"] = rng.integers(0, 2, size=rows)
    start = np.datetime64("2019-03-01")
    columns["when"] = start + rng.integers(0, 2000, size=rows).astype("timedelta64[D]")
    frame = pd.DataFrame(columns)
    effect = frame["]]>"].map(dict(zip(LEVELS, range(6), strict=True))).to_numpy()
    y = frame[SCRIPT] + np.abs(frame[CJK]) + effect + 2 * rng.normal(size=rows)
    frame["<i>target</i>"] = 1000.0 * y.to_numpy()
    frame["<u>person</u>"] = np.arange(rows) // 2
    return frame


SCHEMA = Schema(
    {
        "]]>": Categorical(LEVELS),
        "flag & co": Binary(),
        "when": Date(datetime.date(2019, 1, 1), datetime.date(2025, 1, 1)),
    }
)


def ledger(folder):
    """Return a ledger with an entry whose description is hostile."""
    path = folder / "study.dpl"
    found = Ledger.create(path, epsilon=12.0, delta=1e-5, dataset=f"Study {SCRIPT}", unit="person")
    found.add(f"table 3 of the yearbook {IMAGE}", epsilon=1.0, delta=1e-7)
    found.add("pilot", mu=0.4, times=2)
    return found


def fitted(cls, account=None, **options):
    """Return a model with hostile names."""
    options = {"epsilon": 3.0, "schema": SCHEMA, "max_rows": 2, "ledger": account, **options}
    frame = table()
    return cls(**options).fit(frame, "<i>target</i>", unit="<u>person</u>")


def linear(account=None, **options):
    return fitted(PrivateLinearRegression, account, **options)


def additive(account=None, **options):
    return fitted(PrivateAdditiveRegression, account, **options)
