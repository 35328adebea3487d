"""Privacy accounting: conversions, composition, events and records.

=====================  ==========================================================================
:func:`gdp_mu`         the largest mu that implies (epsilon, delta)
:func:`gdp_epsilon`    the smallest epsilon for mu at delta
:func:`gdp_delta`      the smallest delta for mu at epsilon
:func:`compose`        the mu of several releases together
:func:`split`          divides mu in a given ratio
:func:`per_round`      divides mu among equal rounds
:func:`gaussian_sigma` the standard deviation of the noise that makes a release mu-GDP
``BudgetTracker``      a budget spent step by step
``GDPAccountant``      composes events; returns epsilon(delta) and delta(epsilon)
``Release``            a Gaussian release; ``ApproximateRelease`` is an (epsilon, delta) one
``PrivacyRecord``      the attribute ``privacy_`` of a fitted estimator
``Ledger``             a budget in a file, from which every fit on a data set is paid
``Provenance``         the attribute ``provenance_``: time, data set, entry in the ledger
=====================  ==========================================================================

Privacy
-------
Every number is rounded to the private side: a budget mu down; a cost mu, epsilon or delta up. The
functions accept epsilon from 1e-6 to 1e3 and delta from 1e-300 to 0.5. Accounting needs only the
standard library.

Examples
--------
>>> from dpfit.accounting import compose, gdp_mu, split
>>> mu = gdp_mu(epsilon=1.0, delta=1e-6)
>>> gram, gradient, eigenvalue = split(mu, (1, 1, 1))
>>> compose(gram, gradient, eigenvalue) <= mu
True
"""

from dpfit._typing import Neighbors
from dpfit.accounting._checks import DELTA_RANGE, EPSILON_RANGE
from dpfit.accounting.accountant import GDPAccountant
from dpfit.accounting.bill import Bill
from dpfit.accounting.budget import BudgetTracker
from dpfit.accounting.events import ApproximateRelease, Event, Release, event_from_dict
from dpfit.accounting.gdp import (
    compose,
    gaussian_sigma,
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
    per_round,
    split,
)
from dpfit.accounting.ledger import Charge, Ledger, LedgerEntry, LedgerLike, ModelFile, Remaining
from dpfit.accounting.provenance import Provenance, utc_now
from dpfit.accounting.record import PrivacyRecord

__all__ = [
    "DELTA_RANGE",
    "EPSILON_RANGE",
    "ApproximateRelease",
    "Bill",
    "BudgetTracker",
    "Charge",
    "Event",
    "GDPAccountant",
    "Ledger",
    "LedgerEntry",
    "LedgerLike",
    "ModelFile",
    "Neighbors",
    "PrivacyRecord",
    "Provenance",
    "Release",
    "Remaining",
    "compose",
    "event_from_dict",
    "gaussian_sigma",
    "gdp_delta",
    "gdp_epsilon",
    "gdp_mu",
    "per_round",
    "split",
    "utc_now",
]
