"""Workflows: drafts, publishing, versions."""
