-- PENDING executions without an item get one: due, or at the time that they wait for.
-- $1, $2: workspace and execution after which the slice begins; $3: its size. The first row tells where it ended, if it
-- was full.
WITH slice AS MATERIALIZED (
    SELECT workspace_id, id
    FROM workflow_executions
    WHERE status = 'PENDING' AND (workspace_id, id) > ($1, $2)
    ORDER BY workspace_id, id
    LIMIT $3
), missing AS MATERIALIZED (
    SELECT e.*
    FROM workflow_executions e
    WHERE e.id IN (SELECT s.id FROM slice s
                   WHERE NOT EXISTS (SELECT FROM execution_queue q WHERE q.execution_id = s.id))
      AND e.status = 'PENDING'
    ORDER BY e.id
    FOR NO KEY UPDATE SKIP LOCKED
), timed AS (
    SELECT m.*, CASE WHEN m.waiting_kind IS NULL THEN greatest(coalesce(m.scheduled_for, now()), now())
                     ELSE m.waiting_until END AS available
    FROM missing m
), restored AS (
    INSERT INTO execution_queue (id, execution_id, workspace_id, workflow_definition_id, priority, available_at, due, aged_at)
    SELECT gen_random_uuid(), id, workspace_id, workflow_definition_id, priority, available,
           coalesce(available <= now(), false), greatest(created_at, coalesce(scheduled_for, created_at))
    FROM timed
    ON CONFLICT (execution_id) DO NOTHING
    RETURNING execution_id
)
SELECT last.workspace_id AS last_workspace, last.id AS last_id, NULL::uuid AS id, NULL::uuid AS workspace_id, NULL AS status
FROM (SELECT workspace_id, id FROM slice ORDER BY workspace_id DESC, id DESC LIMIT 1) last
WHERE (SELECT count(*) FROM slice) = $3
UNION ALL
SELECT NULL, NULL, t.id, t.workspace_id, t.status FROM timed t JOIN restored r ON r.execution_id = t.id
