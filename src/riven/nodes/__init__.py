"""Does one thing to the outside world, given validated config and a context; no tables, no engine, no other node."""
