"""Runs are Temporal workflows; every attempt of a node is an activity; values stay in PostgreSQL."""
