-- The end of a run that nobody drives; the caller holds its item and its execution. A run that was admitted before leaves a
-- cancel that nobody has read: an engine elsewhere may have a workflow of it, which is canceled by that row.
-- $1: execution; $2: status; $3: error type; $4: error message; $5: revision.
WITH ended AS (
    UPDATE workflow_executions
    SET status = $2, phase = $2, owner_id = NULL, finished_at = now(), error_type = $3, error_message = $4,
        duration_ms = round(extract(epoch FROM now() - started_at) * 1000), revision = $5,
        waiting_kind = NULL, waiting_since = NULL, waiting_until = NULL, recoveries = 0, suspect = false
    WHERE id = $1
    RETURNING id, workspace_id, status, run, run_started_at
), left_line AS (
    DELETE FROM execution_queue WHERE execution_id = $1 AND $2 <> 'FAILED'
), failed AS (
    UPDATE execution_queue
    SET status = 'FAILED', owner_id = NULL, due = true, holds_slot = false, failed_at = now(),
        last_error = $3 || ': ' || $4
    WHERE execution_id = $1 AND $2 = 'FAILED'
), voided AS (
    UPDATE signals SET void = true
    WHERE execution_id = $1 AND kind IN ('CANCEL', 'PAUSE', 'RESUME') AND seq IS NULL AND NOT void
), left_behind AS (
    INSERT INTO signals (execution_id, kind, run)
    SELECT id, 'CANCEL', run FROM ended WHERE run_started_at IS NOT NULL
)
INSERT INTO outbox (workspace_id, execution_id, kind, payload)
SELECT workspace_id, id, 'execution_finished', json_build_object('executionId', id, 'status', status) FROM ended
