"""The paper's experiments, reproduced and extended.

>>> from dpfit.experiments import reproduce
>>> reproduce(quick=True)  # doctest: +SKIP

On the command line: ``dpfit reproduce --help``.
"""

from __future__ import annotations

from dpfit.experiments.reproduction import reproduce

__all__ = ["reproduce"]
