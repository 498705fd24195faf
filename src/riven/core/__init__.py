"""Decides. No I/O, clock, randomness, logging, environment or async; standard library only; sees no tenant data.

Same events give the same commands, for ever.
"""
