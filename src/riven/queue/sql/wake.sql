-- A waiting run has something to go on with: it is due now. Its status changes when it is claimed.
UPDATE execution_queue q
SET available_at = now(), due = true
FROM workflow_executions e
WHERE q.execution_id = ANY ($1::uuid[]) AND e.id = q.execution_id AND e.status = 'WAITING'
  AND q.status = 'PENDING' AND NOT q.due
RETURNING q.workspace_id
