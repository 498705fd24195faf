"""Builds objects and starts them; no domain decision; the only place where concrete classes meet."""
