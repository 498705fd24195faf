-- After a commit that made items due or freed slots. Writes nothing where nothing was hinted. Locks are taken by id: two
-- announcements of the same workspaces, each in an order of its own, would be a deadlock.
UPDATE workspaces SET idle = false, at_capacity = false
WHERE id IN (
    SELECT id FROM workspaces WHERE id = ANY ($1::uuid[]) AND (idle OR at_capacity) ORDER BY id FOR NO KEY UPDATE
)
