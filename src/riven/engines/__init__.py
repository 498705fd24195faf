"""Make commands real. Every engine passes the same conformance suite."""
