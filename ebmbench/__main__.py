"""`python -m ebmbench` is `ebmbench`."""

import sys

from ebmbench.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
