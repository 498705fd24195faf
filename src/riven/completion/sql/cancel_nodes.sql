-- The nodes of a run that nobody drives and that ends: what was under way, waited or was to be tried again is canceled.
-- What an attempt has come to stays as it is.
-- $1: execution; $2: revision of the latest change before.
WITH last AS (
    SELECT DISTINCT ON (path) path, attempt, status, settled, next_retry_at
    FROM workflow_execution_nodes
    WHERE execution_id = $1
    ORDER BY path, run DESC, attempt DESC
), open AS (
    SELECT path, attempt, row_number() OVER () AS number
    FROM last
    WHERE settled IS NULL
      AND (status IN ('PENDING', 'RUNNING', 'WAITING') OR (status = 'FAILED' AND next_retry_at IS NOT NULL))
)
UPDATE workflow_execution_nodes n
SET settled = 'CANCELED', revision = $2 + o.number,
    status = CASE WHEN n.finished_at IS NULL THEN 'CANCELED' ELSE n.status END,
    finished_at = coalesce(n.finished_at, CASE WHEN n.started_at IS NOT NULL THEN now() END)
FROM open o
WHERE n.execution_id = $1 AND n.path = o.path AND n.attempt = o.attempt
