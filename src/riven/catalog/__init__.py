"""What tenants define: workflows as drafts, and versions that never change."""
