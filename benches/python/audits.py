"""Print how much of the claimed mu audits find: the table in docs/privacy/audit.md.

It takes half an hour. The noise is random, so the last digits change.
"""

import math
import sys

from dpfit import (
    AdaSSP,
    Binary,
    BoostedAdaSSP,
    BoostedMean,
    DPGradientDescent,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
)
from dpfit.audit import audit, worst_cases

MU = 2.0
TRANSCRIPTS, OUTPUTS = 2000, 6000
PUBLIC = Schema({0: Binary()})
ESTIMATORS = {
    "BoostedMean": BoostedMean(mu=MU, n_rounds=3, n_jobs=1),
    "AdaSSP": AdaSSP(mu=MU, n_jobs=1),
    "BoostedAdaSSP": BoostedAdaSSP(mu=MU, n_rounds=3, n_jobs=1),
    "DPGradientDescent": DPGradientDescent(mu=MU, n_rounds=3, n_jobs=1),
    "PrivateLinearRegression": PrivateLinearRegression(mu=MU, n_jobs=1),
    "PrivateLinearRegression, public levels": PrivateLinearRegression(
        mu=MU, n_jobs=1, schema=PUBLIC
    ),
    "PrivateAdditiveRegression": PrivateAdditiveRegression(mu=MU, n_jobs=1),
    "PrivateAdditiveRegression, public levels": PrivateAdditiveRegression(
        mu=MU, n_jobs=1, schema=PUBLIC
    ),
}
# Releases that published numbers are averages or functions of; the rounds that are averaged are the
# last ones of X'g.
SHOWN = ("number of rows", "products of scores", "sum of squared residuals")


def visible(estimator):
    """Return the mu of the releases that the numbers in a model file are computed from directly."""
    events = estimator.fit(*worst_cases(estimator)["whole"].first).privacy_.events
    shown = [event for event in events if event.statistic in SHOWN]
    shown.append([event for event in events if event.statistic == "X'g"][-1])
    return math.sqrt(sum(event.count * event.mu**2 for event in shown))


def main():
    for name, estimator in ESTIMATORS.items():
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        releases = audit(estimator, "whole", n_fits=TRANSCRIPTS, method="transcript")
        outputs = audit(estimator, "whole", n_fits=OUTPUTS)
        test = outputs.pairs[0].tests[0]
        largest = releases.pairs[0].largest_mu / MU
        direct = f"{visible(estimator) / MU:.0%}" if name.startswith("Private") else ""
        print(
            f"| `{name}` | {largest:.1%} | {releases.mu / MU:.0%} | {outputs.mu / MU:.0%} "
            f"({test.false_positives}, {test.false_negatives} of {test.trials}) | {direct} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
