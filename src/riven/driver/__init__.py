"""One asyncio loop between coordinator and performer; no clock, no I/O; every StartNode is answered exactly once."""
