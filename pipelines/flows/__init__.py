"""Everything that uses Prefect: flows, schedules, artifacts, the server, cancellation."""
