"""Evidence for and against the literature's claims: how one is put to the test, and how it is decided."""
