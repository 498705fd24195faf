-- One flush: what many runs have to record, in one statement and so in one commit.
-- Items are locked before executions (the lock order), executions FOR SHARE: a claim that takes a run over waits for
-- this flush, and a run whose token has moved on, or that is no longer RUNNING, is left out with all its rows.
-- A run that several processes write for (`shared`) is locked against the others, and its rows get their revisions here:
-- theirs count from 1 with each write. Their item and execution have no owner.
-- $1: one object a run; $2: rows of nodes; $3: rows of scopes; $4: timers that fired; $5: control rows that were read.
WITH writes AS MATERIALIZED (
    SELECT *
    FROM json_to_recordset($1::json) AS w (
        id uuid, run int, token bigint, moves bool, begun json, status text, phase text, timeout_ms bigint, output json,
        output_blob uuid, error_type text, error_node text, error_message text, waiting_kind text, due_ms bigint,
        progress bool, revision bigint, shared bool
    )
), items AS MATERIALIZED (
    SELECT q.id
    FROM execution_queue q
    JOIN writes w ON w.id = q.execution_id
    WHERE w.moves
    ORDER BY q.id
    FOR UPDATE OF q
), common AS MATERIALIZED (
    SELECT e.id, e.revision
    FROM workflow_executions e
    JOIN writes w ON w.id = e.id
    WHERE w.shared AND (SELECT count(*) FROM items) >= 0
    ORDER BY e.id
    FOR NO KEY UPDATE OF e
), held AS MATERIALIZED (
    SELECT w.*, coalesce(c.revision, 0) AS base
    FROM workflow_executions e
    JOIN writes w ON w.id = e.id
    LEFT JOIN common c ON c.id = w.id
    WHERE e.run = w.run AND e.token = w.token AND e.status = 'RUNNING' AND (SELECT count(*) FROM items) >= 0
    ORDER BY e.id
    FOR SHARE OF e
), nodes AS (
    INSERT INTO workflow_execution_nodes AS t (
        execution_id, path, attempt, run, place, revision, type, status, settled, outcome, input, output, output_blob_id, error_type,
        error_message, skip_reason, next_retry_at, due_at, started_at, finished_at, expanded_seq, expanded, seq, answer
    )
    SELECT n.execution_id, n.path, n.attempt, h.run, n.place, h.base + n.revision, n.type, n.status, n.settled, n.outcome, n.input, n.output,
           n.output_blob, n.error_type, n.error_message, n.skip_reason, to_timestamp(n.next_retry_ms / 1000.0),
           to_timestamp(n.due_ms / 1000.0), to_timestamp(n.started_ms / 1000.0), to_timestamp(n.finished_ms / 1000.0),
           n.expanded_seq, n.expanded, n.seq, n.answer
    FROM json_to_recordset($2::json) AS n (
        execution_id uuid, path text, attempt int, place text, revision bigint, type text, status text, settled text, outcome text, input json,
        output json, output_blob uuid, error_type text, error_message text, skip_reason text, next_retry_ms bigint,
        due_ms bigint, started_ms bigint, finished_ms bigint, expanded_seq bigint, expanded json, seq bigint, answer json
    )
    JOIN held h ON h.id = n.execution_id
    ON CONFLICT (execution_id, path, attempt) DO UPDATE
    SET run = excluded.run,
        revision = CASE WHEN t.finished_at IS NOT NULL AND excluded.settled IS NULL AND excluded.next_retry_at IS NULL
                        THEN t.revision ELSE excluded.revision END, -- a place in the journal is nothing to see
        status = CASE WHEN t.finished_at IS NULL THEN excluded.status ELSE t.status END,
        settled = coalesce(excluded.settled, t.settled),
        outcome = coalesce(excluded.outcome, t.outcome),
        input = coalesce(excluded.input, t.input),
        output = coalesce(excluded.output, t.output),
        output_blob_id = coalesce(excluded.output_blob_id, t.output_blob_id),
        error_type = coalesce(excluded.error_type, t.error_type),
        error_message = coalesce(excluded.error_message, t.error_message),
        skip_reason = coalesce(excluded.skip_reason, t.skip_reason),
        next_retry_at = coalesce(excluded.next_retry_at, t.next_retry_at),
        due_at = coalesce(excluded.due_at, t.due_at),
        started_at = coalesce(t.started_at, excluded.started_at),
        finished_at = coalesce(t.finished_at, excluded.finished_at),
        expanded_seq = coalesce(excluded.expanded_seq, t.expanded_seq),
        expanded = coalesce(excluded.expanded, t.expanded),
        seq = coalesce(excluded.seq, t.seq),
        answer = coalesce(excluded.answer, t.answer)
    -- An outcome is written once. What may still follow a failed attempt is that its node is settled without another.
    -- And where several processes write, the place of its answer in the journal is known only later.
    WHERE t.finished_at IS NULL OR (excluded.settled IS NOT NULL AND t.settled IS NULL)
       OR (excluded.seq IS NOT NULL AND (t.seq IS NULL OR (excluded.answer IS NULL AND t.seq <> excluded.seq)))
), scopes AS (
    INSERT INTO workflow_execution_scopes AS t (
        execution_id, path, run, seq, answer, output, output_blob_id, error, checked_seq, checked
    )
    SELECT s.execution_id, s.path, h.run, s.seq, s.answer, s.output, s.output_blob, s.error, s.checked_seq, s.checked
    FROM json_to_recordset($3::json) AS s (
        execution_id uuid, path text, seq bigint, answer json, output json, output_blob uuid, error json,
        checked_seq bigint, checked json
    )
    JOIN held h ON h.id = s.execution_id
    ON CONFLICT (execution_id, path) DO UPDATE
    SET run = excluded.run, seq = coalesce(excluded.seq, t.seq), answer = coalesce(excluded.answer, t.answer),
        output = coalesce(excluded.output, t.output),
        output_blob_id = coalesce(excluded.output_blob_id, t.output_blob_id),
        error = coalesce(excluded.error, t.error),
        checked_seq = coalesce(excluded.checked_seq, t.checked_seq), checked = coalesce(excluded.checked, t.checked)
), timers AS (
    INSERT INTO signals (execution_id, kind, name, payload, run, seq)
    SELECT f.execution_id, 'TIMER', f.name, f.payload, h.run, f.seq
    FROM json_to_recordset($4::json) AS f (execution_id uuid, name text, payload json, seq bigint)
    JOIN held h ON h.id = f.execution_id
    ON CONFLICT DO NOTHING
), read AS (
    UPDATE signals g
    SET seq = r.seq, path = coalesce(r.path, g.path)
    FROM json_to_recordset($5::json) AS r (id uuid, execution_id uuid, seq bigint, path text)
    JOIN held h ON h.id = r.execution_id
    WHERE g.id = r.id AND g.seq IS NULL
), moved AS (
    UPDATE workflow_executions e
    SET status = coalesce(h.status, e.status),
        phase = coalesce(h.phase, e.phase),
        retry_defaults = coalesce(h.begun, e.retry_defaults),
        deadline_at = coalesce(e.deadline_at, e.run_started_at + make_interval(secs => h.timeout_ms / 1000.0)),
        output = h.output, output_blob_id = h.output_blob,
        error_type = h.error_type, error_node = h.error_node, error_message = h.error_message,
        owner_id = CASE WHEN h.status IS NULL AND h.shared IS NOT TRUE THEN e.owner_id END,
        finished_at = CASE WHEN h.status IN ('COMPLETED', 'FAILED', 'CANCELED') THEN now() END,
        duration_ms = CASE WHEN h.status IN ('COMPLETED', 'FAILED', 'CANCELED')
                           THEN round(extract(epoch FROM now() - e.started_at) * 1000) END,
        waiting_kind = h.waiting_kind,
        waiting_since = CASE WHEN h.waiting_kind IS NOT NULL THEN now() END,
        waiting_until = to_timestamp(h.due_ms / 1000.0),
        revision = h.base + h.revision,
        recoveries = CASE WHEN h.progress THEN 0 ELSE e.recoveries END,
        suspect = e.suspect AND h.progress IS NOT TRUE
    FROM held h
    WHERE e.id = h.id AND h.moves
    RETURNING e.id, e.workspace_id, e.status
), settled AS (
    UPDATE execution_queue q
    SET status = 'DISPATCHED', dispatched_at = now(), attempts = 0,
        owner_id = CASE WHEN h.shared IS NOT TRUE THEN q.owner_id END
    FROM held h
    WHERE q.execution_id = h.id AND h.moves AND h.status IS NULL AND q.status = 'CLAIMED'
), left_line AS (
    DELETE FROM execution_queue q
    USING held h
    WHERE q.execution_id = h.id AND h.status IN ('COMPLETED', 'CANCELED')
    RETURNING q.execution_id
), failed AS (
    UPDATE execution_queue q
    SET status = 'FAILED', owner_id = NULL, due = true, holds_slot = false, failed_at = now(),
        last_error = h.error_type || ': ' || h.error_message
    FROM held h
    WHERE q.execution_id = h.id AND h.status = 'FAILED'
    RETURNING q.execution_id
), parked AS (
    UPDATE execution_queue q
    SET status = 'PENDING', owner_id = NULL, claimed_at = NULL, dispatched_at = NULL, holds_slot = false,
        available_at = to_timestamp(h.due_ms / 1000.0), due = false
    FROM held h
    WHERE q.execution_id = h.id AND h.status IN ('WAITING', 'PAUSED')
    RETURNING q.execution_id
), voided AS (
    -- None of them may reach another run of this execution. One that is written while this waits for its lock is not
    -- seen here: it is of an earlier run then, and nobody reads those either.
    UPDATE signals g
    SET void = true
    FROM held h
    WHERE g.execution_id = h.id AND h.status IN ('COMPLETED', 'FAILED', 'CANCELED')
      AND g.kind IN ('CANCEL', 'PAUSE', 'RESUME') AND g.seq IS NULL AND NOT g.void
), told AS (
    INSERT INTO outbox (workspace_id, execution_id, kind, payload)
    SELECT m.workspace_id, m.id, 'execution_finished', json_build_object('executionId', m.id, 'status', m.status)
    FROM moved m
    WHERE m.status IN ('COMPLETED', 'FAILED', 'CANCELED')
)
SELECT h.id, m.workspace_id, h.status,
       h.status IS NULL OR EXISTS (SELECT FROM left_line l WHERE l.execution_id = h.id)
           OR EXISTS (SELECT FROM failed f WHERE f.execution_id = h.id)
           OR EXISTS (SELECT FROM parked p WHERE p.execution_id = h.id) AS had_item
FROM held h
LEFT JOIN moved m ON m.id = h.id
