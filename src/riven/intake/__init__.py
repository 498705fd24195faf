"""Turns a wish into a durable execution: validate, quota, idempotency, insert and enqueue in one transaction."""
