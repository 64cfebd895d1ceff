"""What the maths shares: energies, noise, random streams, datasets and the contract of a method."""
