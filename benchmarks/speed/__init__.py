"""How fast ebmbench is beside the bare autograd loop and beside two other libraries, all in one interleaved run.

    python -m benchmarks.speed --rows 'Langevin' --rounds 15

`rows.py` lists what is measured; a contender (`ours`, `bare`, `with_torchebm`, `with_ebmkit`) says how it does it, or
that it cannot. `docs/speed.md` says how to read the tables.
"""
