"""Measure from outside how private an estimator is.

=====================  ==========================================================================
:func:`audit`          fits an estimator to neighbouring tables; returns lower bounds
:class:`AuditResult`   the bounds, as numbers, text, JSON and a plot
:class:`Neighbours`    a pair of tables
:func:`worst_cases`    the built-in pairs
=====================  ==========================================================================

``docs/how_to/audit.md`` shows how to use it, ``docs/privacy/audit.md`` why the bounds hold.
"""

from dpfit.audit.neighbours import Neighbours
from dpfit.audit.result import AuditResult, PairResult
from dpfit.audit.run import audit
from dpfit.audit.worst_cases import worst_cases

__all__ = ["AuditResult", "Neighbours", "PairResult", "audit", "worst_cases"]
