"""API keys of workspaces and of the platform."""
