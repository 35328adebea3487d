"""A private fit from nothing, on a real table that comes with dpfit: ``dpfit demo``.

What a diamond costs is predicted from its weight, its grades and its size: by least squares
without privacy, by the method of the paper that dpfit builds on, and by dpfit.
"""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass
from importlib.resources import as_file, files
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from dpfit.additive import PrivateAdditiveRegression
from dpfit.linear import PrivateLinearRegression
from dpfit.paper import BoostedAdaSSP
from dpfit.schema import Categorical, Schema

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.figure import Figure

__all__ = ["SCHEMA", "Demo", "Result", "diamonds", "run"]

Floats: TypeAlias = npt.NDArray[np.float64]

TARGET = "price"
# The scales of grades are published; no look at the table is needed for them.
SCHEMA = Schema(
    {
        "cut": Categorical(("Fair", "Good", "Very Good", "Premium", "Ideal")),
        "color": Categorical(tuple("DEFGHIJ")),
        "clarity": Categorical(("I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF")),
    }
)
_SIZES = ("x", "y", "z")
# Rows for testing: one in five, always the same.
_TEST_SHARE = 0.2

_BLUE, _TINT, _GREY, _LIGHT = "#1f5a8a", "#9fc0db", "#5a616a", "#c9ced4"


class Result(NamedTuple):
    """How well a method predicts.

    Parameters
    ----------
    name : str
        The method.
    private : bool
        Whether it keeps its promise to the rows.
    error : float
        Mean squared error on rows that were kept aside, as a share of the variance.
    typical : float
        The root of the mean squared error, in dollars.
    words : str
        What the method is.
    """

    name: str
    private: bool
    error: float
    typical: float
    words: str


@dataclass(frozen=True)
class Demo:
    """What the demo found.

    Parameters
    ----------
    epsilon, delta : float
        The budget of each private fit.
    results : tuple of Result
        The methods, in the order in which they are told.
    linear, additive : estimators
        The models of dpfit.
    average : float
        How far the average price is off, typically: what a model has to beat.
    """

    epsilon: float
    delta: float
    results: tuple[Result, ...]
    linear: PrivateLinearRegression
    additive: PrivateAdditiveRegression
    average: float

    def words(self, width: int = 88) -> str:
        """Return the comparison in plain words."""
        question = (
            "How well is the price of a diamond predicted? Error 1 is that of telling the average "
            f"price for every diamond, which is off by {self.average:,.0f} dollars, typically; "
            "error 0 is perfect."
        )
        longest = max(len(result.name) for result in self.results)
        lines = [*textwrap.wrap(question, width), ""]
        lines.append(f"  {'':<{longest}}  private   error  off by, typically")
        for result in self.results:
            private = "yes" if result.private else "no"
            lines.append(
                f"  {result.name:<{longest}}  {private:>7}  {result.error:6.3f}"
                f"  {result.typical:9,.0f} dollars"
            )
        lines.append("")
        for result in self.results:
            text = f"{result.name}: {result.words}"
            lines += textwrap.wrap(text, width, subsequent_indent="  ")
        plain, ours = self.results[0].error, min(self.results[-2].error, self.results[-1].error)
        if ours < plain:
            why = (
                "That private fits are ahead of least squares here is no miracle: they cut columns "
                "where a line ceases to fit, and curves bend. Privacy itself costs accuracy, the "
                "more the fewer rows there are."
            )
            lines += ["", *textwrap.wrap(why, width)]
        return "\n".join(lines)

    def draw(self) -> Figure:
        """Draw the comparison, and a curve of the additive model; needs matplotlib."""
        from dpfit.plots import _pyplot

        figure, axes = _pyplot().subplots(
            1, 2, figsize=(10.0, 3.9), layout="constrained", width_ratios=(1.55, 1.0)
        )
        self._draw_errors(axes[0])
        self._draw_curve(axes[1])
        found: Figure = figure
        return found

    def _draw_errors(self, ax: Any) -> None:
        for place, result in enumerate(self.results):
            ours = result.name.startswith("dpfit")
            colour = _BLUE if ours else (_TINT if result.private else _LIGHT)
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
        ax.axvline(1.0, color=_GREY, linewidth=0.9, linestyle=(0, (4, 3)), zorder=0)
        top = max(result.error for result in self.results)
        ax.set_xlim(0.0, max(1.15, 1.1 * top))
        ax.annotate(
            "telling the average\nprice every time",
            (1.0, len(labels) - 0.45),
            xytext=(5, 2),
            textcoords="offset points",
            fontsize=8,
            color=_GREY,
            va="bottom",
        )
        ax.set_title(
            f"Error on diamonds that no model has seen, epsilon = {self.epsilon:g}",
            fontsize=10,
            loc="left",
        )
        ax.set_xlabel("Squared error / variance of the price", fontsize=8.5, color=_GREY)
        ax.tick_params(axis="y", length=0)
        _quieten(ax)
        ax.spines["left"].set_visible(False)

    def _draw_curve(self, ax: Any) -> None:
        x, height = self.additive.curve("carat")
        points = np.asarray(x, dtype=np.float64)
        beyond = 0.05 * (points[-1] - points[0])
        ends = np.concatenate([[points[0] - beyond], points, [points[-1] + beyond]])
        ax.axhline(0.0, color=_LIGHT, linewidth=0.8, zorder=1)
        ax.plot(ends, np.interp(ends, points, height), color=_BLUE, linewidth=1.8)
        ax.plot(points, height, "o", color=_BLUE, markersize=3.5)
        ax.set_title("What dpfit says of weight", fontsize=10, loc="left")
        ax.set_xlabel("Carat", fontsize=8.5, color=_GREY)
        ax.set_ylabel("Added to the price, in dollars", fontsize=8.5, color=_GREY)
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:+,.0f}" if value else "0")
        _quieten(ax)


def diamonds() -> pa.Table:
    """Return the demo's table: 53,940 diamonds, their prices and attributes.

    Notes
    -----
    From plotnine, which has it from ggplot2 (both MIT); ``dpfit/data/README.md`` says more.
    """
    import pyarrow.parquet as pq

    with as_file(files("dpfit") / "data" / "diamonds.parquet") as path:
        return pq.read_table(path)


def run(epsilon: float = 1.0, delta: float = 1e-6, *, all_columns: bool = False) -> Demo:
    """Fit all models and measure them.

    Parameters
    ----------
    epsilon, delta : float
        The budget of each private fit.
    all_columns : bool, default False
        Whether length, width and depth in millimetres are features, too. They say nearly the same
        as the weight: no model predicts much better for them, and no curve of them can be read by
        itself.

    Privacy
    -------
    The errors are measured on rows of the table, without noise: the table is public. With data
    that are not, such a comparison would give away what the fits protect.
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
    told = BoostedAdaSSP(epsilon=epsilon, delta=delta)
    told.fit(_scaled(X, low, high), (price - middle) / half)

    def result(name: str, private: bool, predicted: Any, words: str) -> Result:
        square = float(np.mean((truth - np.asarray(predicted, dtype=np.float64)) ** 2))
        return Result(name, private, square / float(np.var(truth)), math.sqrt(square), words)

    results = (
        result(
            "least squares",
            False,
            _with_ones(X_new) @ plain,
            "the ordinary straight-line fit, without privacy. It promises nothing: what it "
            "says may tell on single rows.",
        ),
        result(
            "the paper's method, as it comes",
            True,
            paper.predict(X_new),
            "BoostedAdaSSP, which dpfit builds on, with its fixed settings. It cuts every row to "
            "length 1 and every step to 1, because nobody may look at the data to choose "
            "better; with prices in thousands of dollars it gets nowhere.",
        ),
        result(
            "the paper's method, told all ranges",
            False,
            told.predict(_scaled(X_new, low, high)) * half + middle,
            "the same after somebody has looked up the lowest and the highest value of every "
            "column, price included: a look at the data that no budget has paid for.",
        ),
        result(
            "dpfit, linear",
            True,
            linear.predict(new),
            "PrivateLinearRegression. It is told the scales of the grades, which are published, "
            "and finds all that it needs of the rest within its budget.",
        ),
        result(
            "dpfit, additive",
            True,
            additive.predict(new),
            "PrivateAdditiveRegression: the same with a curve for each column.",
        ),
    )
    return Demo(epsilon, delta, results, linear, additive, float(np.std(truth)))


def _prices(table: pa.Table) -> Floats:
    prices: Floats = table.column(TARGET).to_numpy().astype(np.float64)
    return prices


def _numbers(table: pa.Table) -> Floats:
    """Return the features as numbers, with a column of zeros and ones for each grade."""
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
    """Return columns from -1 to 1, grades from 0 to 1."""
    grade = (low == 0.0) & (high == 1.0)
    return np.where(grade, X, 2.0 * (X - low) / (high - low) - 1.0)


def _quieten(ax: Any) -> None:
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(_LIGHT)
    ax.tick_params(color=_LIGHT, labelsize=8.5)
