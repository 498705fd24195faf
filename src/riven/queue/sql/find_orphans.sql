-- Items that name a workspace, an execution or a version which is gone, or an execution that has ended.
-- $1: item after which the slice begins; $2: its size. The first row tells where it ended, if it was full.
WITH slice AS MATERIALIZED (
    SELECT id, execution_id, workspace_id, status
    FROM execution_queue
    WHERE id > $1
    ORDER BY id
    LIMIT $2
)
SELECT last.id AS last_id, NULL::uuid AS id, NULL::uuid AS execution_id, NULL::uuid AS workspace_id, NULL AS gone
FROM (SELECT id FROM slice ORDER BY id DESC LIMIT 1) last
WHERE (SELECT count(*) FROM slice) = $2
UNION ALL
SELECT NULL, s.id, s.execution_id, s.workspace_id, s.gone
FROM (
    SELECT s.*,
           CASE WHEN NOT EXISTS (SELECT FROM workspaces w WHERE w.id = s.workspace_id) THEN 'workspace'
                WHEN e.id IS NULL THEN 'execution'
                WHEN e.finished_at IS NOT NULL THEN 'finished'
                WHEN s.status = 'PENDING' AND NOT EXISTS (SELECT FROM workflow_definition_versions v
                                                          WHERE v.id = e.workflow_definition_version_id) THEN 'version'
           END AS gone
    FROM slice s
    LEFT JOIN workflow_executions e ON e.id = s.execution_id
    WHERE s.status <> 'FAILED'
) s
WHERE s.gone IS NOT NULL
