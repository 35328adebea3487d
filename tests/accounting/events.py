"""Events to test accounts and records with."""

from dpfit.accounting import ApproximateRelease, Release, per_round, split


def gaussian(mu, *, statistic="gram", count=1, neighbors="add_remove"):
    return Release(statistic=statistic, sensitivity=1.0, mu=mu, neighbors=neighbors, count=count)


def approximate(epsilon, delta=0.0, *, neighbors="add_remove"):
    return ApproximateRelease(
        mechanism="exponential",
        statistic="model",
        epsilon=epsilon,
        delta=delta,
        neighbors=neighbors,
    )


def boosted(mu, rounds=100, neighbors="add_remove"):
    """Return the events of a boosted fit."""
    gram, gradient, eigenvalue = split(mu, (1, 1, 1))
    return [
        gaussian(gram, neighbors=neighbors),
        gaussian(eigenvalue, statistic="lambda_min", neighbors=neighbors),
        gaussian(
            per_round(gradient, rounds), statistic="gradient", count=rounds, neighbors=neighbors
        ),
    ]
