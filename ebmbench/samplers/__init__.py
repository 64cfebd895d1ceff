"""Samplers: pure functions `(energy, x, generator, …) -> Chain`, one file each."""
