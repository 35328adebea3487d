"""The paper's experiments, reproduced and extended.

``python benches/reproduce.py --help`` shows the options; ``make reproduce ARGS="..."`` sets up an
environment first. From Python, with this folder's parent on the path::

    from paper import Options, reproduce

    reproduce(Options(quick=True))
"""

from __future__ import annotations

from paper.options import Figures, Options
from paper.reproduction import reproduce

__all__ = ["Figures", "Options", "reproduce"]
