-- The nodes of a run that are under way, wait, or are to be tried again.
-- $1: execution.
SELECT n.path, n.type, n.status, n.due_at, n.next_retry_at, n.started_at, n.finished_at
FROM workflow_execution_nodes n
WHERE n.execution_id = $1 AND n.settled IS NULL
  AND (n.status IN ('RUNNING', 'WAITING') OR (n.status = 'FAILED' AND n.next_retry_at IS NOT NULL))
  AND NOT EXISTS (
      SELECT FROM workflow_execution_nodes later
      WHERE later.execution_id = n.execution_id AND later.path = n.path AND later.attempt > n.attempt
  )
