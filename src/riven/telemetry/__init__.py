"""Logs, metrics, and what tests need to see of a process from outside."""
