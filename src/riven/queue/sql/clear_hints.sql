-- After a commit that made items due or freed slots. Writes nothing where nothing was hinted.
UPDATE workspaces SET idle = false, at_capacity = false WHERE id = ANY ($1::uuid[]) AND (idle OR at_capacity)
