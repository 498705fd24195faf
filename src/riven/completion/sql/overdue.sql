-- Runs whose time is up and that nobody drives; whoever drives one has a timer for it.
-- $1: at most so many.
SELECT e.id, e.workspace_id
FROM workflow_executions e
LEFT JOIN execution_queue q ON q.execution_id = e.id
WHERE e.deadline_at IS NOT NULL AND e.finished_at IS NULL AND e.deadline_at <= now()
  AND (e.status <> 'RUNNING' OR q.status = 'PENDING')
ORDER BY e.deadline_at
LIMIT $1
