-- WAITING and PAUSED executions without an item get one. A paused one is never due; a waiting one at its time, or at once
-- if somebody has sent it something that nobody has read yet.
-- $1: execution after which the slice begins; $2: its size. The first row tells where it ended, if it was full.
WITH slice AS MATERIALIZED (
    SELECT id
    FROM workflow_executions
    WHERE status IN ('WAITING', 'PAUSED') AND id > $1
    ORDER BY id
    LIMIT $2
), missing AS MATERIALIZED (
    SELECT e.*
    FROM workflow_executions e
    WHERE e.id IN (SELECT s.id FROM slice s
                   WHERE NOT EXISTS (SELECT FROM execution_queue q WHERE q.execution_id = s.id))
      AND e.status IN ('WAITING', 'PAUSED')
    ORDER BY e.id
    FOR NO KEY UPDATE SKIP LOCKED
), timed AS (
    SELECT m.*, CASE WHEN m.status = 'PAUSED' THEN NULL
                     WHEN EXISTS (SELECT FROM signals g WHERE g.execution_id = m.id AND g.seq IS NULL AND NOT g.void)
                     THEN now()
                     ELSE m.waiting_until END AS available
    FROM missing m
), restored AS (
    INSERT INTO execution_queue (id, execution_id, workspace_id, workflow_definition_id, priority, available_at, due, aged_at)
    SELECT gen_random_uuid(), id, workspace_id, workflow_definition_id, priority, available,
           coalesce(available <= now(), false), created_at
    FROM timed
    ON CONFLICT (execution_id) DO NOTHING
    RETURNING execution_id
)
SELECT last.id AS last_id, NULL::uuid AS id, NULL::uuid AS workspace_id, NULL AS status
FROM (SELECT id FROM slice ORDER BY id DESC LIMIT 1) last
WHERE (SELECT count(*) FROM slice) = $2
UNION ALL
SELECT NULL, t.id, t.workspace_id, t.status FROM timed t JOIN restored r ON r.execution_id = t.id
