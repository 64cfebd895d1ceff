"""How a value gets in: `params.yaml`, its sections and their checks, suites, and the registry of plug-ins."""
