"""Stages on many machines: a Dask scheduler distributes them, a DVC remote carries their outputs."""

NEEDS_EXTRA = "needs the extra `dask`: pip install 'ebmbench[dask]' -c constraints.txt"
