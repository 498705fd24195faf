-- Runs that an engine elsewhere has, to be compared with what it says of them.
-- $1: execution after which the slice begins; $2: its size; $3: seconds since they were dispatched, at least.
WITH running AS MATERIALIZED (
    -- from the index of what runs: in the order of ids it would be all that ever ran
    SELECT id, run, token, workspace_id FROM workflow_executions WHERE status = 'RUNNING' AND id > $1
)
SELECT e.id AS execution_id, e.run, e.token, e.workspace_id
FROM running e
JOIN execution_queue q ON q.execution_id = e.id
WHERE q.status = 'DISPATCHED' AND q.owner_id IS NULL
  AND coalesce(q.dispatched_at, '-infinity') <= now() - make_interval(secs => $3)
ORDER BY e.id
LIMIT $2
