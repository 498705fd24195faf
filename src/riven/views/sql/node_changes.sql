-- All that is known of the nodes that have changed since a revision, oldest change first.
-- $1: execution; $2: the revision; $3: most nodes.
WITH changed AS (
    SELECT path, max(revision) AS latest
    FROM workflow_execution_nodes
    WHERE execution_id = $1 AND revision > $2
    GROUP BY path
    ORDER BY latest
    LIMIT $3
)
SELECT n.path, n.place, n.attempt, n.run, n.revision, n.type, n.status, n.settled, n.outcome, n.error_type,
       n.error_message, n.skip_reason, n.next_retry_at, n.started_at, n.finished_at, c.latest,
       coalesce(pg_column_size(n.input), 0) + coalesce(pg_column_size(n.output), 0)
           + coalesce((SELECT octet_length(b.data) FROM blobs b WHERE b.id = n.output_blob_id), 0) AS size
FROM changed c
JOIN workflow_execution_nodes n ON n.execution_id = $1 AND n.path = c.path
ORDER BY c.latest, n.run, n.attempt
