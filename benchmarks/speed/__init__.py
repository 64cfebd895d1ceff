"""How fast ebmbench is: beside a bare autograd loop and other libraries, and beside its own last release.

`make speed` runs `python -m benchmarks.speed`, which measures everything in one run and writes the whole of
`reports/speed/speed.md`. `docs/speed.md` says what is measured and how to read it.
"""
