-- Take the chosen items: both rows move together, the token tells every earlier owner that it drives no longer.
-- An execution that is being written to, by a flush of its old owner, say, is left for the next claim: so the new owner
-- reads a complete journal, and nobody who holds a row holds up a claim. Items whose execution is gone or cannot be started
-- come back as strays, untouched; `busy` ones are none. `asked`: somebody has sent the run something
-- that nobody has read yet.
-- $1: items; $2: the process that claims; $3, $4: workspaces, and the limits under which they were counted.
WITH items AS MATERIALIZED (
    SELECT id, execution_id, holds_slot
    FROM execution_queue
    WHERE id = ANY ($1::uuid[]) AND status = 'PENDING' AND due
    ORDER BY id
    FOR UPDATE SKIP LOCKED
), executions AS MATERIALIZED (
    SELECT e.id, e.status, e.run_started_at, l.running_limit
    FROM workflow_executions e
    JOIN items i ON i.execution_id = e.id
    LEFT JOIN unnest($3::uuid[], $4::int[]) AS l (workspace_id, running_limit) ON l.workspace_id = e.workspace_id
    ORDER BY e.id
    FOR NO KEY UPDATE OF e SKIP LOCKED
), taken AS (
    UPDATE workflow_executions e
    SET status = 'RUNNING', token = e.token + 1, owner_id = $2, started_at = coalesce(e.started_at, now()),
        run_started_at = coalesce(e.run_started_at, now()),
        admitted_at = CASE WHEN x.status = 'RUNNING' THEN e.admitted_at ELSE now() END,
        admitted_limit = CASE WHEN x.status = 'RUNNING' THEN e.admitted_limit ELSE x.running_limit END,
        revision = e.revision + CASE WHEN x.status = 'RUNNING' THEN 0 ELSE 1 END,
        waiting_kind = NULL, waiting_since = NULL, waiting_until = NULL
    FROM executions x
    WHERE e.id = x.id AND x.status IN ('PENDING', 'WAITING', 'RUNNING')
    RETURNING e.id, e.workspace_id, e.workflow_definition_id, e.workflow_definition_version_id, e.workflow_name,
              e.version, e.run, e.token, e.input, e.trigger, e.created_at, e.started_at, e.run_started_at,
              e.base_seq, e.revision, e.deadline_at,
              e.retry_defaults, e.rules_version, e.recoveries, e.suspect, x.status AS status_before,
              x.run_started_at IS NULL AS first_start,
              EXISTS (SELECT FROM signals g WHERE g.execution_id = e.id AND g.seq IS NULL AND NOT g.void
                                              AND (g.run = e.run OR g.kind = 'SIGNAL')) AS asked,
              (SELECT w.name FROM workspaces w WHERE w.id = e.workspace_id) AS workspace_name
), claimed AS (
    UPDATE execution_queue q
    SET status = 'CLAIMED', owner_id = $2, claimed_at = now(), status_before = t.status_before,
        slot_taken = t.status_before <> 'RUNNING', first_start = t.first_start, holds_slot = false,
        waiting_kind = NULL
    FROM taken t
    WHERE q.execution_id = t.id
    RETURNING q.id, q.execution_id, q.attempts
)
SELECT i.id AS queue_id, i.execution_id, c.attempts, t.*, x.status AS found_status,
       x.id IS NULL AND EXISTS (SELECT FROM workflow_executions e WHERE e.id = i.execution_id) AS busy
FROM items i
LEFT JOIN executions x ON x.id = i.execution_id
LEFT JOIN taken t ON t.id = i.execution_id
LEFT JOIN claimed c ON c.id = i.id
