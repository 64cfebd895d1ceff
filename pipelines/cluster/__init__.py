"""Stages on many machines: a Dask scheduler deals them out, a DVC remote carries what they make."""

NEEDS_EXTRA = "needs the extra `dask`: pip install 'ebmbench[dask]' -c constraints.txt"
