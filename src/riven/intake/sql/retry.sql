-- A new run of an execution that failed or was canceled. Where its journal begins, everything older is known by.
WITH journal AS (
    SELECT greatest(
        (SELECT max(greatest(seq, expanded_seq)) FROM workflow_execution_nodes WHERE execution_id = $1),
        (SELECT max(greatest(seq, checked_seq)) FROM workflow_execution_scopes WHERE execution_id = $1),
        (SELECT max(seq) FROM signals WHERE execution_id = $1),
        0
    ) AS seq
), voided AS (
    -- what was asked of the earlier run and never read; a signal that no node has taken is for this one too, and a cancel
    -- that outlived its run is for the engine that may still have that run
    UPDATE signals SET void = true
    WHERE execution_id = $1 AND seq IS NULL AND NOT void AND kind NOT IN ('SIGNAL', 'CANCEL')
)
UPDATE workflow_executions
SET status = 'PENDING', run = run + 1, base_seq = j.seq,
    phase = CASE WHEN j.seq > 0 THEN 'EXECUTING_NODES' ELSE 'INITIALIZING' END,
    output = NULL, output_blob_id = NULL, error_type = NULL, error_node = NULL, error_message = NULL,
    finished_at = NULL, duration_ms = NULL, deadline_at = NULL, run_started_at = NULL, owner_id = NULL,
    waiting_kind = NULL, waiting_since = NULL, waiting_until = NULL, recoveries = 0, suspect = false,
    revision = revision + 1
FROM journal j
WHERE id = $1
