"""DVC's stages: each reads what `dvc.yaml` declares for it, calls the layers below, and writes what is declared."""
