-- What was asked of these runs, as far as an engine elsewhere drives them, and that they have not read.
-- $1: executions.
SELECT g.execution_id, e.run, array_agg(g.id ORDER BY g.created_at, g.id) AS controls
FROM signals g
JOIN workflow_executions e ON e.id = g.execution_id
LEFT JOIN execution_queue q ON q.execution_id = g.execution_id
WHERE g.execution_id = ANY ($1::uuid[]) AND g.seq IS NULL AND NOT g.void
  AND (g.run = e.run OR g.kind = 'SIGNAL')
  AND e.status = 'RUNNING' AND q.owner_id IS NULL AND q.status IS DISTINCT FROM 'PENDING'
GROUP BY g.execution_id, e.run
