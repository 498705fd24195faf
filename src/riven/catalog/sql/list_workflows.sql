-- Newest first, without drafts, which may be large. $1: workspace; $2: those before this id; $3: how many.
SELECT id, workspace_id, name, status, etag, latest_version, created_at, updated_at
FROM workflow_definitions
WHERE workspace_id = $1 AND archived_at IS NULL AND id < $2
ORDER BY id DESC
LIMIT $3
