"""What several samplers share: chains, the Metropolis test, buffers, norms."""
