"""Features: the reference classifier of labelled images, and Inception, as extractors of torch-fidelity."""
