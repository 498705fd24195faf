-- The workflow that has this name or, when none has it, the last one that was archived under it: its versions stay.
(
    SELECT id, name, latest_version
    FROM workflow_definitions
    WHERE workspace_id = $1 AND name = $2 AND archived_at IS NULL
)
UNION ALL
(
    SELECT id, name, latest_version
    FROM workflow_definitions
    WHERE workspace_id = $1 AND name = $2 AND archived_at IS NOT NULL
    ORDER BY archived_at DESC
    LIMIT 1
)
LIMIT 1
