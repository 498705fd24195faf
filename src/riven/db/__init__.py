"""Connections, transactions, tables and migrations; the only place that commits."""
