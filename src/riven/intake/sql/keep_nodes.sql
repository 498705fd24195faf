-- What a rerun keeps of another execution: rows of an earlier run of its own, with their places in the journal. Only if
-- this very transaction has accepted it: a repeated request finds it as it is.
-- $1: the execution that was; $2: the new one; $3: keys of the nodes that are kept; $4, $5: paths and their places in the
-- document that runs now; $6, $7: large outputs and their new ids.
WITH fresh AS (
    SELECT id FROM workflow_executions WHERE id = $2 AND created_at = now() AND token = 0 AND base_seq = 0
), blobs AS (
    INSERT INTO blobs (id, execution_id, data)
    SELECT c.new_id, f.id, b.data
    FROM fresh f, unnest($6::uuid[], $7::uuid[]) AS c (id, new_id)
    JOIN blobs b ON b.id = c.id
), nodes AS (
    INSERT INTO workflow_execution_nodes (
        execution_id, path, attempt, run, place, revision, type, status, settled, outcome, input, output, output_blob_id,
        error_type, error_message, skip_reason, next_retry_at, due_at, started_at, finished_at, expanded_seq, expanded,
        seq, answer
    )
    SELECT f.id, n.path, n.attempt, 0, p.place, row_number() OVER (ORDER BY n.revision), n.type, n.status, n.settled,
           n.outcome, n.input, n.output, c.new_id, n.error_type, n.error_message, n.skip_reason, n.next_retry_at, n.due_at,
           n.started_at, n.finished_at, n.expanded_seq, n.expanded, n.seq, n.answer
    FROM fresh f, workflow_execution_nodes n
    JOIN unnest($4::text[], $5::text[]) AS p (path, place) ON p.path = n.path
    LEFT JOIN unnest($6::uuid[], $7::uuid[]) AS c (id, new_id) ON c.id = n.output_blob_id
    WHERE n.execution_id = $1 AND substring(n.path FROM '^[^.[]+') = ANY ($3::text[])
    RETURNING seq, expanded_seq, revision
), scopes AS (
    INSERT INTO workflow_execution_scopes (
        execution_id, path, run, seq, answer, output, output_blob_id, error, checked_seq, checked
    )
    SELECT f.id, s.path, 0, s.seq, s.answer, s.output, c.new_id, s.error, s.checked_seq, s.checked
    FROM fresh f, workflow_execution_scopes s
    LEFT JOIN unnest($6::uuid[], $7::uuid[]) AS c (id, new_id) ON c.id = s.output_blob_id
    WHERE s.execution_id = $1 AND substring(s.path FROM '^[^.[]+') = ANY ($3::text[])
    RETURNING seq, checked_seq
)
UPDATE workflow_executions e
SET base_seq = greatest(
        (SELECT max(greatest(seq, expanded_seq)) FROM nodes), (SELECT max(greatest(seq, checked_seq)) FROM scopes), 0
    ),
    revision = coalesce((SELECT max(revision) FROM nodes), 0)
FROM fresh f
WHERE e.id = f.id
