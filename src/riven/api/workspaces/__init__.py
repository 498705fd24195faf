"""Tenants: their tier, limits and weight."""
