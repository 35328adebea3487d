"""Take the screenshots in docs/figures: a report, and a page of the API.

It needs Chromium and a built site: make docs && .venv/bin/python tools/screenshots.py
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from dpfit import Categorical, Numeric, PrivateLinearRegression, Schema

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "docs" / "figures"
# Few rows, so that the intervals can be seen.
ROWS = 5_000


def report(path: Path) -> None:
    """Write a report on simulated stays in hospital."""
    rng = np.random.default_rng(7)
    wards = ["surgery", "medicine", "geriatrics"]
    stays = pd.DataFrame(
        {
            "age": rng.integers(18, 95, ROWS),
            "ward": rng.choice(wards, ROWS, p=[0.4, 0.4, 0.2]),
            "emergency": rng.random(ROWS) < 0.4,
            "diagnoses": rng.poisson(3, ROWS),
        }
    )
    days = 2 + 0.03 * stays.age + 0.3 * stays.diagnoses + 0.8 * stays.emergency
    days += stays.ward.map({"surgery": 0.0, "medicine": 0.5, "geriatrics": 2.0})
    stays["days"] = (days * rng.gamma(4, 0.25, ROWS)).round()
    schema = Schema({"ward": Categorical(wards), "age": Numeric(18, 110)})
    model = PrivateLinearRegression(epsilon=1.0, schema=schema).fit(stays, "days")
    model.report(path, title="Length of stays in hospital (simulated)")


def shoot(page: Path, picture: Path, width: int, height: int) -> None:
    """Save the upper part of a page as a picture."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium: apt-get install chromium")
    command = [
        *(chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
        *(f"--window-size={width},{height}", "--virtual-time-budget=4000"),
        *(f"--screenshot={picture}", page.resolve().as_uri()),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


def main() -> None:
    """Take both."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "model.html")
        report(page)
        shoot(page, FIGURES / "report.png", 1000, 1440)
    shoot(ROOT / "site" / "reference" / "api" / "models.html", FIGURES / "api.png", 1240, 1000)


if __name__ == "__main__":
    main()
