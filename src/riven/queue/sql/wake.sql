-- A waiting run has something to go on with: it is due now. Its status changes when it is claimed. So has one that was
-- paused while it waited, and resumed.
UPDATE execution_queue q
SET available_at = now(), due = true
FROM workflow_executions e
WHERE q.execution_id = ANY ($1::uuid[]) AND e.id = q.execution_id
  AND (e.status = 'WAITING' OR (e.status = 'PENDING' AND e.waiting_kind IS NOT NULL))
  AND q.status = 'PENDING' AND NOT q.due
RETURNING q.workspace_id
