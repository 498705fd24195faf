"""A loop: claim, start, settle, idempotent at each arrow; `starter.py` and `control.py` alone see the engine port."""
