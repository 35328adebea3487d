"""Run a command, and turn its errors into a message and an exit code."""

from __future__ import annotations

import errno
import os
import sys
import traceback
import warnings
from typing import Annotated, Any

import typer
import typer.core

from dpfit.cli.commands import (
    audit,
    budget,
    demo,
    evaluate,
    fit,
    ledger,
    plan,
    predict,
    schema,
    show,
)
from dpfit.cli.errors import PipeClosed, explain, wrong_use
from dpfit.cli.options import Command
from dpfit.cli.printing import epilog, print_note, unwrapped

__all__ = ["app", "run"]

EXAMPLES = (
    "dpfit demo",
    "dpfit fit data.parquet --target price --epsilon 1 -o model.json",
    "dpfit show model.json",
    "dpfit predict model.json new.parquet -o predictions.parquet",
)

_INTERRUPTED, _PIPE_CLOSED = 130, 141

# Commands that other programs have, and what to use instead.
_ELSEWHERE = {
    "export": "dpfit show MODEL --sql TABLE",
    "infer": "dpfit schema infer DATA",
    "score": "dpfit evaluate MODEL DATA",
    "plot": "dpfit show MODEL --plot FILE.png",
    "report": "dpfit show MODEL --html FILE",
    "sql": "dpfit show MODEL --sql TABLE",
    "summary": "dpfit show MODEL",
}


class _Group(typer.core.TyperGroup):
    """The commands; closed pipes are reported to `run`, not handled by typer."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] in _ELSEWHERE:
            raise wrong_use(f"there is no command {args[0]!r}", _ELSEWHERE[args[0]])
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise PipeClosed from None
            raise


app = typer.Typer(
    name="dpfit",
    cls=_Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command, examples in (
    (fit.fit, fit.EXAMPLES),
    (predict.predict, predict.EXAMPLES),
    (evaluate.evaluate, evaluate.EXAMPLES),
    (show.show, show.EXAMPLES),
    (plan.plan, plan.EXAMPLES),
    (audit.audit, audit.EXAMPLES),
    (demo.demo, demo.EXAMPLES),
):
    app.command(cls=Command, help=unwrapped(command), epilog=epilog(examples))(command)
app.add_typer(budget.app, name="budget")
app.add_typer(ledger.app, name="ledger")
app.add_typer(schema.app, name="schema")


def _version(wanted: bool) -> None:
    if wanted:
        import dpfit

        print(f"dpfit {dpfit.__version__}")
        raise typer.Exit


def _dpfit(
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", callback=_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Fit regression models on personal data with differential privacy.

    A private model describes all rows together and reveals almost nothing about any single row. It
    needs no bounds and no tuning.

    Exit codes: 0 success, 1 failure, 2 wrong usage.
    """


app.callback(help=unwrapped(_dpfit), epilog=epilog(EXAMPLES))(_dpfit)


def run(arguments: list[str]) -> int:
    """Run a command and return its exit code.

    Parameters
    ----------
    arguments : list of str
        The command and its options.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # A terminal that cannot show Greek letters gets question marks instead of an error.
            stream.reconfigure(errors="replace")
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except (PipeClosed, BrokenPipeError):
        _discard_output()
        return _PIPE_CLOSED
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except Exception as error:
        _discard_output()
        if os.environ.get("DPFIT_TRACEBACK"):
            traceback.print_exc()
        line, code = explain(error, arguments[0] if arguments else "")
        if line:
            print(f"dpfit: {line}", file=sys.stderr)
    if code == _INTERRUPTED:
        print("dpfit: interrupted", file=sys.stderr)
    return code


def _discard_output() -> None:
    """Discard output that cannot be printed; Python would try again at exit and report an error."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _hide_types_of_flags(command: Any, parent: Any = None) -> None:
    """Show no types of flags in the help, including --help."""
    context = command.context_class(command, parent=parent, **command.context_settings)
    for option in (*command.params, command.get_help_option(context)):
        if getattr(option, "is_flag", False):
            option.metavar = ""
    for child in getattr(command, "commands", {}).values():
        _hide_types_of_flags(child, context)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
) -> None:
    """Print a warning of dpfit without its place in the source; others as Python prints them."""
    if category.__module__ == "dpfit.exceptions":
        print_note(f"dpfit: warning: {message}")
    else:
        print(warnings.formatwarning(message, category, filename, lineno), file=sys.stderr, end="")


def _run(arguments: list[str]) -> int:
    command = typer.main.get_command(app)
    _hide_types_of_flags(command)
    warnings.showwarning = _show_warning
    try:
        code = command.main(args=arguments, prog_name="dpfit", standalone_mode=False)
    except typer.Abort:
        return _INTERRUPTED
    return code if isinstance(code, int) else 0
