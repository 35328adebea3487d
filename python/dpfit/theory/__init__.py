"""The paper's theory of clipping and boosting, as functions to compute with.

==============================  =================================================================
:func:`clipped_mean`            mean of a clipped normal variable
:func:`infinite_sample_path`    boosting with infinitely many rows (Algorithm 4)
:func:`infinite_sample_errors`  its distance from the mean
:func:`warm_up_rounds`          rounds until the error is at most tau
:func:`contraction`             factor per round from then on
:func:`infinite_sample_bound`   the proposition that joins the two
:func:`finite_sample_bound`     how far the private iteration (Algorithm 3) is from it
:func:`suggested_rounds`        the theorem's number of rounds
:func:`huber_fixed_point`       what boosting converges to on a table
:func:`one_round_lower_bound`   error that one round cannot avoid on bounded rows
:func:`two_round_thresholds`    thresholds of the two-round scheme
:func:`two_round_upper_bound`   error that it does not exceed
:func:`two_round_error_order`   its order, without the constant
==============================  =================================================================

"The paper" is Tang, Aydore, Kearns, Rho, Roth, Wang, Wang and Wu, "Improved differentially private
regression via gradient boosting", arXiv:2303.03451. ``docs/theory.md`` lists where its statements
need a correction. Nothing here reads private data or adds noise.
"""

from dpfit.theory.boosted_mean import (
    clipped_mean,
    contraction,
    finite_sample_bound,
    infinite_sample_bound,
    infinite_sample_errors,
    infinite_sample_path,
    suggested_rounds,
    warm_up_rounds,
)
from dpfit.theory.huber import huber_fixed_point
from dpfit.theory.separation import (
    one_round_lower_bound,
    two_round_error_order,
    two_round_thresholds,
    two_round_upper_bound,
)

__all__ = [
    "clipped_mean",
    "contraction",
    "finite_sample_bound",
    "huber_fixed_point",
    "infinite_sample_bound",
    "infinite_sample_errors",
    "infinite_sample_path",
    "one_round_lower_bound",
    "suggested_rounds",
    "two_round_error_order",
    "two_round_thresholds",
    "two_round_upper_bound",
    "warm_up_rounds",
]
