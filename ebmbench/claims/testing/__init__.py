"""How a claim is measured and decided: criteria, seeds, records, and the protocols that claims share."""
