-- What is known of nodes, some at a time, in document order; without inputs and outputs, whose sizes it tells.
-- $1: execution; $2: place of the last node before, null for the first page; $3: most nodes.
WITH page AS (
    SELECT DISTINCT place
    FROM workflow_execution_nodes
    WHERE execution_id = $1 AND ($2::text IS NULL OR place > $2)
    ORDER BY place
    LIMIT $3
)
SELECT n.path, n.place, n.attempt, n.run, n.revision, n.type, n.status, n.settled, n.outcome, n.error_type,
       n.error_message, n.skip_reason, n.next_retry_at, n.started_at, n.finished_at,
       coalesce(pg_column_size(n.input), 0) + coalesce(pg_column_size(n.output), 0)
           + coalesce((SELECT octet_length(b.data) FROM blobs b WHERE b.id = n.output_blob_id), 0) AS size
FROM workflow_execution_nodes n
WHERE n.execution_id = $1 AND ($2::text IS NULL OR n.place > $2) AND n.place <= (SELECT max(place) FROM page)
ORDER BY n.place, n.path, n.run, n.attempt
