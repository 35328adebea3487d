"""Print how much of the claimed mu audits find: the table in docs/privacy/audit.md.

It takes a quarter of an hour. The noise is random, so the last digits change.
"""

from dpfit import (
    AdaSSP,
    BoostedAdaSSP,
    BoostedMean,
    DPGradientDescent,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
)
from dpfit.audit import audit

MU = 2.0
ESTIMATORS = (
    BoostedMean(mu=MU, n_rounds=3, n_jobs=1),
    AdaSSP(mu=MU, n_jobs=1),
    BoostedAdaSSP(mu=MU, n_rounds=3, n_jobs=1),
    DPGradientDescent(mu=MU, n_rounds=3, n_jobs=1),
    PrivateLinearRegression(mu=MU, n_jobs=1),
    PrivateAdditiveRegression(mu=MU, n_jobs=1),
)


def main():
    for estimator in ESTIMATORS:
        releases = audit(estimator, "whole", n_fits=2000, method="transcript")
        outputs = audit(estimator, "whole", n_fits=6000)
        largest = releases.pairs[0].largest_mu / MU
        print(
            f"| `{type(estimator).__name__}` | {largest:.1%} | {releases.mu / MU:.0%} "
            f"| {outputs.mu / MU:.0%} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
