"""Fit, save, load, predict and report with the installed package: for wheels of any system."""

import pathlib
import tempfile

import numpy as np

import dpfit


def main() -> None:
    """Fail if the installed package does not work."""
    root = pathlib.Path(__file__).resolve().parents[1]
    place = pathlib.Path(dpfit.__file__).resolve()
    assert root / "python" not in place.parents, f"{place} is not the installed package"
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(20_000, 2))
    y = X @ [1.0, 2.0] + 0.1 * rng.normal(size=len(X))
    for cls in (dpfit.PrivateLinearRegression, dpfit.PrivateAdditiveRegression):
        model = cls(epsilon=5.0).fit(X, y)
        assert float(np.mean((model.predict(X) - y) ** 2)) < 0.5 * float(np.var(y))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "model.json")
            model.save(path)
            again = dpfit.load(path)
            again.report(path.with_suffix(".html"))
            assert path.with_suffix(".html").stat().st_size > 10_000
        assert (again.predict(X) == model.predict(X)).all()
        print(model.summary())
    print(f"dpfit {dpfit.__version__} works")


if __name__ == "__main__":
    main()
