"""``dpfit audit``."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from dpfit.cli.errors import wrong_use
from dpfit.cli.options import Json, output_path, plot_format
from dpfit.cli.outputs import STANDARD, open_output, use_matplotlib
from dpfit.cli.printing import print_json, print_note, print_text, progress

__all__ = ["EXAMPLES", "audit"]

EXAMPLES = (
    "dpfit audit AdaSSP --epsilon 4 --fits 200",
    "dpfit audit BoostedMean --mu 2 --tables whole --fits 200",
    "dpfit audit AdaSSP --mu 2 --method black_box --tables whole --json",
)

_NAMES = (
    "PrivateLinearRegression",
    "PrivateAdditiveRegression",
    "BoostedAdaSSP",
    "AdaSSP",
    "DPGradientDescent",
    "TukeyEM",
    "BoostedMean",
)
# Its noise is not Gaussian.
_BLACK_BOX_ONLY = "TukeyEM"


def audit(
    estimator: Annotated[
        str,
        typer.Argument(
            metavar="ESTIMATOR", help=f"One of {', '.join(_NAMES)}.", show_default=False
        ),
    ],
    epsilon: Annotated[
        float | None,
        typer.Option(
            "--epsilon", "-e", metavar="NUMBER", help="Privacy budget of each fit. Default: 1."
        ),
    ] = None,
    delta: Annotated[float | None, typer.Option(metavar="NUMBER", help="Default: 1e-6.")] = None,
    mu: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="The budget as mu, instead of epsilon and delta."),
    ] = None,
    neighbors: Annotated[
        Literal["add_remove", "replace"],
        typer.Option(
            help="Whether neighbouring tables differ by adding a row, or by replacing one."
        ),
    ] = "add_remove",
    method: Annotated[
        Literal["transcript", "black_box"] | None,
        typer.Option(
            help="Look at all releases of a fit, or only at the fitted model. Default: transcript, "
            f"and black_box for {_BLACK_BOX_ONLY}.",
            show_default=False,
        ),
    ] = None,
    tables: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Built-in pair of tables, such as `whole`; may be repeated. Default: all pairs.",
        ),
    ] = None,
    fits: Annotated[
        int, typer.Option(min=16, metavar="NUMBER", help="Fits of each table of a pair.")
    ] = 1000,
    confidence: Annotated[
        float, typer.Option(metavar="NUMBER", help="Probability with which all bounds hold.")
    ] = 0.999,
    jobs: Annotated[int, typer.Option(min=1, metavar="NUMBER", help="Number of processes.")] = 1,
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            parser=output_path,
            help="Also draw the error rates, to a .png, .svg or .pdf file.",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Measure how private an estimator is, and compare that with what it claims.

    The estimator is fitted many times to pairs of made-up tables that differ in one row. The exit
    code is 1 if it is less private than it claims. An audit can find a fault, but not prove that
    there is none.
    """
    if plot is not None:
        if str(plot) == STANDARD:
            raise wrong_use("a plot needs a file", "--plot FILE.png")
        format = plot_format(plot)
        use_matplotlib()
    name = _name(estimator)
    import dpfit
    from dpfit.audit import audit as run

    if epsilon is None and mu is None:
        epsilon = 1.0
    audited: Any = getattr(dpfit, name)(epsilon=epsilon, delta=delta, n_jobs=1, neighbors=neighbors)
    if mu is not None:
        if name == _BLACK_BOX_ONLY:
            raise wrong_use(f"the budget of {name} cannot be given as mu", "--epsilon 1")
        audited.set_params(mu=mu)
    method = method or ("black_box" if name == _BLACK_BOX_ONLY else "transcript")

    def found() -> Any:
        with progress(f"Auditing {name}") as show:
            return run(
                audited,
                tables,
                n_fits=fits,
                confidence=confidence,
                method=method,
                n_jobs=jobs,
                progress=lambda done, total: show(f"Auditing {name}: fit {done} of {total}"),
            )

    if plot is None:
        result = found()
    else:
        # Opened first, so that a wrong name is reported before minutes of work.
        with open_output(str(plot)) as file:
            result = found()
            drawn = io.BytesIO()
            result.plot().get_figure().savefig(drawn, format=format, dpi=150)
            file.write(drawn.getvalue())
    if json:
        print_json(result.to_dict())
    else:
        print_text(str(result))
    if plot is not None:
        print_note(f"The plot was written to {plot}.")
    if result.exceeds:
        raise typer.Exit(1)


def _name(text: str) -> str:
    names = {name.lower(): name for name in _NAMES}
    if text.lower() not in names:
        raise wrong_use(f"{text!r} is not an estimator of dpfit", f"one of {', '.join(_NAMES)}")
    return names[text.lower()]
