"""When the stages run, and how many at a time. `dvc.yaml` says what depends on what, `ebmbench` what a stage does."""
