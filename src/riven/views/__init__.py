"""Reads, tenant-scoped; never writes."""
