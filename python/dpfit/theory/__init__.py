"""The paper's theory of clipping and boosting, as functions.

==============================  =================================================================
:func:`clipped_mean`            mean of a clipped normal variable
:func:`infinite_sample_path`    iterates of boosting with infinitely many rows (Algorithm 4)
:func:`infinite_sample_errors`  errors of these iterates
:func:`warm_up_rounds`          number of rounds after which the error is at most tau
:func:`contraction`             bound on the factor by which a later round multiplies the error
:func:`infinite_sample_bound`   bound on the error that follows from these two
:func:`finite_sample_bound`     bound on the distance of the private iterates (Algorithm 3)
:func:`suggested_rounds`        number of rounds in the theorem on the rate
:func:`huber_fixed_point`       limit of noiseless boosting on a table
:func:`one_round_lower_bound`   lower bound on the error of one round on bounded rows
:func:`two_round_thresholds`    thresholds of the two-round scheme
:func:`two_round_upper_bound`   upper bound on the error of the two-round scheme
:func:`two_round_error_order`   order of that error, without the constant
==============================  =================================================================

"The paper" is Tang, Aydore, Kearns, Rho, Roth, Wang, Wang and Wu, "Improved differentially private
regression via gradient boosting", arXiv:2303.03451. ``docs/explanation/theory.md`` lists
corrections to its statements. The functions do not add noise. All but `huber_fixed_point` take
parameters only, no data.
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
