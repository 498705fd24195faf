-- The workflow of a name and its draft; those that were archived have given their names away.
SELECT id, workspace_id, name, status, etag, latest_version, created_at, updated_at, source, document, problems
FROM workflow_definitions
WHERE workspace_id = $1 AND name = $2 AND archived_at IS NULL
