"""``python -m dpfit.cli``."""

import sys

from dpfit.cli import main

if __name__ == "__main__":
    sys.exit(main())
