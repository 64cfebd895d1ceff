"""The only code that knows Prefect: flows, schedules, artifacts, server, cancellation."""
