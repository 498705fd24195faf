-- After a commit that made items due or freed slots. Writes nothing where nothing was hinted. Nobody is waited for: a claim
-- that holds a workspace looks again after its commit, and any other who holds one keeps only that one hinted.
UPDATE workspaces SET idle = false, at_capacity = false
WHERE id IN (
    SELECT id FROM workspaces WHERE id = ANY ($1::uuid[]) AND (idle OR at_capacity) FOR NO KEY UPDATE SKIP LOCKED
)
