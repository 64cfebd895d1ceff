"""What several samplers share: chains and their settings, the Metropolis rule, buffers."""
