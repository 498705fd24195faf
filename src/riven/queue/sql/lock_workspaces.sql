-- Whoever holds this lock admits for the workspace, alone. NO KEY: an accept's foreign-key check must not wait for us.
SELECT id FROM workspaces WHERE id = ANY ($1::uuid[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
