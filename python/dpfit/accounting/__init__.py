"""Privacy accounting: conversions, composition, events, and what a result says about itself.

=====================  ==========================================================================
:func:`gdp_mu`         the largest mu within (epsilon, delta)
:func:`gdp_epsilon`    the smallest epsilon for mu at delta
:func:`gdp_delta`      the smallest delta for mu at epsilon
:func:`compose`        the mu of several releases together
:func:`split`          mu divided in a ratio
:func:`per_round`      mu divided into equal rounds
:func:`gaussian_sigma` the noise that makes a release mu-GDP
``Purse``              a budget spent step by step
``GDPAccountant``      composes events; answers epsilon(delta) and delta(epsilon)
``Release``            a Gaussian release; ``ApproximateRelease`` is an (epsilon, delta) one
``PrivacyRecord``      what a fitted estimator's ``privacy_`` is
=====================  ==========================================================================

Privacy
-------
Every number is rounded to the private side: mu, when it is a budget, down; mu, epsilon and delta,
when they are a cost, up. The functions take epsilon from 1e-6 to 1e3 and delta from 1e-300 to 0.5.
Accounting needs nothing but the standard library.

Examples
--------
>>> from dpfit.accounting import compose, gdp_mu, split
>>> mu = gdp_mu(epsilon=1.0, delta=1e-6)
>>> gram, gradient, eigenvalue = split(mu, (1, 1, 1))
>>> compose(gram, gradient, eigenvalue) <= mu
True
"""

from dpfit.accounting._checks import DELTA_RANGE, EPSILON_RANGE, Neighbors
from dpfit.accounting.accountant import GDPAccountant
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
from dpfit.accounting.purse import Purse
from dpfit.accounting.record import PrivacyRecord, describe_unit

__all__ = [
    "DELTA_RANGE",
    "EPSILON_RANGE",
    "ApproximateRelease",
    "Event",
    "GDPAccountant",
    "Neighbors",
    "PrivacyRecord",
    "Purse",
    "Release",
    "compose",
    "describe_unit",
    "event_from_dict",
    "gaussian_sigma",
    "gdp_delta",
    "gdp_epsilon",
    "gdp_mu",
    "per_round",
    "split",
]
