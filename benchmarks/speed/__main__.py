"""`python -m benchmarks.speed`."""

import sys

from benchmarks.speed.command import main

sys.exit(main())
