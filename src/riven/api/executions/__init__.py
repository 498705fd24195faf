"""Executions: start them, see them, steer them."""
