"""A comparison of private and other fits on a real table that comes with dpfit: ``dpfit demo``.

The price of a diamond is predicted from its weight, grades and size: by least squares without
privacy, by the method of the paper that dpfit builds on, and by dpfit.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpfit._typing import Floats
from dpfit.models.additive import PrivateAdditiveRegression
from dpfit.models.linear import PrivateLinearRegression
from dpfit.models.style import COLOUR, GREY, LIGHT, TINT, import_pyplot, style_axes
from dpfit.paper import BoostedAdaSSP
from dpfit.schema import Categorical, Schema

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

__all__ = ["SCHEMA", "Demo", "Result", "diamonds", "run"]


TARGET = "price"
# The scales of the grades are published, so they are known without looking at the table.
SCHEMA = Schema(
    {
        "cut": Categorical(("Fair", "Good", "Very Good", "Premium", "Ideal")),
        "color": Categorical(tuple("DEFGHIJ")),
        "clarity": Categorical(("I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF")),
    }
)
_SIZES = ("x", "y", "z")
# The share of rows for testing. They are always the same.
_TEST_SHARE = 0.2


class Result(NamedTuple):
    """The error of a method.

    Parameters
    ----------
    name : str
        The method.
    private : bool
        Whether it protects the rows.
    error : float
        Mean squared error on the test rows, divided by the variance.
    rmse : float
        Root mean squared error in dollars.
    description : str
        A description of the method.
    """

    name: str
    private: bool
    error: float
    rmse: float
    description: str


@dataclass(frozen=True)
class Demo:
    """The results of the demo.

    Parameters
    ----------
    epsilon, delta : float
        The privacy budget of each private fit.
    results : tuple of Result
        The methods, in the order in which they are presented.
    linear, additive : estimators
        The models of dpfit.
    average : float
        Root mean squared error of predicting the average price, which a model has to beat.
    """

    epsilon: float
    delta: float
    results: tuple[Result, ...]
    linear: PrivateLinearRegression
    additive: PrivateAdditiveRegression
    average: float

    def words(self, width: int = 88) -> str:
        """Return the comparison as text."""
        question = (
            "How well do the models predict the price of a diamond? The error is the mean squared "
            "error on diamonds not used in the fits, divided by the variance: 0 is perfect, 1 is "
            f"no better than predicting the average price (RMSE {self.average:,.0f} dollars)."
        )
        longest = max(len(result.name) for result in self.results)
        lines = [*textwrap.wrap(question, width), ""]
        lines.append(f"  {'':<{longest}}  private   error               RMSE")
        for result in self.results:
            private = "yes" if result.private else "no"
            lines.append(
                f"  {result.name:<{longest}}  {private:>7}  {result.error:6.3f}"
                f"  {result.rmse:9,.0f} dollars"
            )
        lines.append("")
        for result in self.results:
            text = f"{result.name}: {result.description}"
            lines += textwrap.wrap(text, width, subsequent_indent="  ")
        plain, ours = self.results[0].error, min(self.results[-2].error, self.results[-1].error)
        if ours < plain:
            why = (
                "Private fits can have a smaller error than least squares because they clip "
                "columns where a line no longer fits, and because curves bend. Privacy itself "
                "costs accuracy, and more so with fewer rows."
            )
            lines += ["", *textwrap.wrap(why, width)]
        return "\n".join(lines)

    def draw(self) -> Figure:
        """Plot the comparison and a curve of the additive model; requires matplotlib."""
        figure, axes = import_pyplot().subplots(
            1, 2, figsize=(10.0, 3.9), layout="constrained", width_ratios=(1.55, 1.0)
        )
        self._draw_errors(axes[0])
        self._draw_curve(axes[1])
        found: Figure = figure
        return found

    def _draw_errors(self, ax: Any) -> None:
        for place, result in enumerate(self.results):
            ours = result.name.startswith("dpfit")
            colour = COLOUR if ours else (TINT if result.private else LIGHT)
            ax.barh(place, result.error, height=0.62, color=colour)
            ax.annotate(
                f"{result.error:.3f}",
                (result.error, place),
                xytext=(5, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
                color="black",
                fontweight="bold" if ours else "normal",
            )
        labels = [
            f"{result.name}\n{'private' if result.private else 'not private'}"
            for result in self.results
        ]
        ax.set_yticks(range(len(labels)), labels, fontsize=8.5)
        ax.set_ylim(len(labels) - 0.4, -0.6)
        ax.axvline(1.0, color=GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
        top = max(result.error for result in self.results)
        ax.set_xlim(0.0, max(1.15, 1.1 * top))
        ax.annotate(
            "predicting the\naverage price",
            (1.0, len(labels) - 0.45),
            xytext=(5, 2),
            textcoords="offset points",
            fontsize=8,
            color=GREY,
            va="bottom",
        )
        ax.set_title(
            f"Error on diamonds not used in the fits, epsilon = {self.epsilon:g}",
            fontsize=10,
            loc="left",
        )
        ax.set_xlabel("Squared error / variance of the price", fontsize=8.5, color=GREY)
        ax.tick_params(axis="y", length=0)
        style_axes(ax)
        ax.spines["left"].set_visible(False)

    def _draw_curve(self, ax: Any) -> None:
        x, height, low, high = self.additive.curve("carat", interval=0.95)
        points = np.asarray(x, dtype=np.float64)
        beyond = 0.05 * (points[-1] - points[0])
        ends = np.concatenate([[points[0] - beyond], points, [points[-1] + beyond]])
        ax.axhline(0.0, color=LIGHT, linewidth=0.8, zorder=1)
        band = [np.interp(ends, points, heights) for heights in (low, high)]
        ax.fill_between(ends, *band, color=TINT, alpha=0.45, linewidth=0.0)
        ax.plot(ends, np.interp(ends, points, height), color=COLOUR, linewidth=1.8)
        ax.plot(points, height, "o", color=COLOUR, markersize=3.5)
        ax.set_title("dpfit: the curve of the weight", fontsize=10, loc="left")
        ax.set_xlabel("Carat", fontsize=8.5, color=GREY)
        ax.set_ylabel("Contribution to the price, in dollars", fontsize=8.5, color=GREY)
        ax.yaxis.set_major_formatter(lambda value, _: _signed(value))
        style_axes(ax)


def _signed(value: float) -> str:
    return f"{value:+,.0f}".replace("-", "\N{MINUS SIGN}") if value else "0"


def diamonds() -> pa.Table:
    """Return the table of the demo: 53,940 diamonds with prices and attributes.

    Notes
    -----
    The table is from plotnine, which has it from ggplot2 (both under the MIT licence); see
    ``dpfit/data/README.md``.
    """
    import pyarrow.parquet as pq

    with as_file(files("dpfit") / "data" / "diamonds.parquet") as path:
        return pq.read_table(path)


def run(epsilon: float = 1.0, delta: float = 1e-6, *, all_columns: bool = False) -> Demo:
    """Fit all models and measure their errors.

    Parameters
    ----------
    epsilon, delta : float
        The privacy budget of each private fit.
    all_columns : bool, default False
        Whether to include length, width and depth in millimetres. They are nearly determined by
        the weight, so they improve no model by much, and their curves cannot be interpreted
        separately.

    Privacy
    -------
    The errors are measured without noise, because the table is public. On private data, such a
    comparison would reveal what the fits protect.
    """
    table = diamonds()
    if not all_columns:
        table = table.drop_columns(list(_SIZES))
    test = np.random.default_rng(0).random(len(table)) < _TEST_SHARE
    known, new = table.filter(~test), table.filter(test)
    price, truth = _prices(known), _prices(new)
    linear = PrivateLinearRegression(epsilon=epsilon, delta=delta, schema=SCHEMA)
    additive = PrivateAdditiveRegression(epsilon=epsilon, delta=delta, schema=SCHEMA)
    linear.fit(known, TARGET)
    additive.fit(known, TARGET)

    X, X_new = _numbers(known), _numbers(new)
    plain = np.linalg.lstsq(_with_ones(X), price, rcond=None)[0]
    paper = BoostedAdaSSP(epsilon=epsilon, delta=delta).fit(X, price)
    low, high = X.min(0), X.max(0)
    middle, half = (price.min() + price.max()) / 2, (price.max() - price.min()) / 2
    with_ranges = BoostedAdaSSP(epsilon=epsilon, delta=delta)
    with_ranges.fit(_scaled(X, low, high), (price - middle) / half)

    def result(name: str, private: bool, predicted: Any, description: str) -> Result:
        square = float(np.mean((truth - np.asarray(predicted, dtype=np.float64)) ** 2))
        return Result(name, private, square / float(np.var(truth)), math.sqrt(square), description)

    results = (
        result(
            "least squares",
            False,
            _with_ones(X_new) @ plain,
            "ordinary least squares without privacy. It guarantees nothing: its coefficients may "
            "reveal single rows.",
        ),
        result(
            "the paper's method, default settings",
            True,
            paper.predict(X_new),
            "BoostedAdaSSP, which dpfit builds on, with its default settings. It clips rows to "
            "norm 1 and residuals to 1, because choosing other bounds would require a look at the "
            "data. That is far too small for prices in thousands of dollars.",
        ),
        result(
            "the paper's method, given all ranges",
            False,
            with_ranges.predict(_scaled(X_new, low, high)) * half + middle,
            "the same with columns scaled by their exact minimum and maximum, including the price: "
            "a look at the data that the privacy budget does not cover.",
        ),
        result(
            "dpfit, linear",
            True,
            linear.predict(new),
            "PrivateLinearRegression. It is given the scales of the grades, which are published, "
            "and finds all other ranges within its privacy budget.",
        ),
        result(
            "dpfit, additive",
            True,
            additive.predict(new),
            "PrivateAdditiveRegression, with a curve for each column.",
        ),
    )
    return Demo(epsilon, delta, results, linear, additive, float(np.std(truth)))


def _prices(table: pa.Table) -> Floats:
    prices: Floats = table.column(TARGET).to_numpy().astype(np.float64)
    return prices


def _numbers(table: pa.Table) -> Floats:
    """Return the features as numbers, with one-hot columns for the grades."""
    columns = []
    for name in table.column_names:
        values, kind = table.column(name).to_numpy(), SCHEMA.get(name)
        if isinstance(kind, Categorical):
            columns += [values == level for level in kind.levels]
        elif name != TARGET:
            columns.append(values)
    return np.column_stack(columns).astype(np.float64)


def _with_ones(X: Floats) -> Floats:
    return np.column_stack([X, np.ones(len(X))])


def _scaled(X: Floats, low: Floats, high: Floats) -> Floats:
    """Return columns scaled to -1 to 1; those of grades stay 0 and 1."""
    grade = (low == 0.0) & (high == 1.0)
    return np.where(grade, X, 2.0 * (X - low) / (high - low) - 1.0)
