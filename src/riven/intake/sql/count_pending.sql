-- How many executions are in line, as far as it matters. $1: workspaces; $2: count no further than this.
SELECT asked.workspace_id, line.pending
FROM unnest($1::uuid[]) AS asked (workspace_id)
CROSS JOIN LATERAL (
    SELECT count(*) AS pending
    FROM (
        SELECT
        FROM workflow_executions e
        WHERE e.workspace_id = asked.workspace_id AND e.status = 'PENDING'
        LIMIT $2
    ) counted
) line
