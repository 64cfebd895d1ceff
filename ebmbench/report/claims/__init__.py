"""The report of a suite of claims: which hold, which do not, and what says so."""
