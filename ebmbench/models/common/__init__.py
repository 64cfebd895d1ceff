"""What several models share: layers with closed-form gradients, spectral norms, trunks."""
