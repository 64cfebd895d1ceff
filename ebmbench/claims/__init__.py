"""The literature's claims, one file each. The folder is the list: a file with `PAPER = …` is a claim."""
