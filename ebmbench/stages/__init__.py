"""DVC's stages: each reads what `dvc.yaml` declares for it, calls the layers below, and writes what is declared."""

import os
import sys
from pathlib import Path

from ebmbench.workspace.code_hash import freeze

# Before NumPy is loaded, which asks once: sums over another number of threads round differently, and results must not
# depend on how many cores there are, or on who starts a stage.
os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "VECLIB_MAXIMUM")}

# `python -m ebmbench.stages.train …`: all else is imported after this, so all that runs is what is hashed.
if any(word.startswith(f"{__name__}.") for word in sys.orig_argv[1:]):
    freeze(Path.cwd())
