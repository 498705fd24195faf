-- What was asked of any run that an engine elsewhere drives, and that it has not read: slice by slice.
-- $1: execution after which the slice begins; $2: at most so many executions.
SELECT g.execution_id, e.run, array_agg(g.id ORDER BY g.created_at, g.id) AS controls
FROM signals g
JOIN workflow_executions e ON e.id = g.execution_id
LEFT JOIN execution_queue q ON q.execution_id = g.execution_id
WHERE g.execution_id > $1 AND g.seq IS NULL AND NOT g.void
  AND (g.run = e.run OR g.kind = 'SIGNAL')
  AND e.status = 'RUNNING' AND q.owner_id IS NULL AND q.status IS DISTINCT FROM 'PENDING'
GROUP BY g.execution_id, e.run
ORDER BY g.execution_id
LIMIT $2
