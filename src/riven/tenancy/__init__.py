"""Who asks, and what they may touch: workspaces and their limits, keys, members, roles, the audit trail."""
