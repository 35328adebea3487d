"""scikit-learn's own checks, for every estimator."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from dpfit import AdaSSP, BoostedAdaSSP, BoostedMean, DPGradientDescent, TukeyEM

ESTIMATORS = [AdaSSP(), BoostedAdaSSP(), BoostedMean(), DPGradientDescent(), TukeyEM(n_models=20)]

pytestmark = pytest.mark.filterwarnings("ignore::dpfit.InsecureSeedWarning")


@parametrize_with_checks(ESTIMATORS)
def test_checks(estimator, check):
    check(estimator)
