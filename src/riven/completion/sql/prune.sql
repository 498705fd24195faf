-- Finished executions whose time is up, with their items (dead letters), nodes and scopes; signals and blobs go with them
-- by their foreign keys. One that somebody has started anew meanwhile is not finished any more and stays.
-- $1: seconds that they are kept; $2: at most so many.
WITH items AS MATERIALIZED (
    SELECT q.id
    FROM execution_queue q
    WHERE q.execution_id IN (SELECT id FROM workflow_executions
                             WHERE finished_at < now() - make_interval(secs => $1) ORDER BY finished_at LIMIT $2)
    ORDER BY q.id
    FOR UPDATE
), old AS MATERIALIZED (
    SELECT id
    FROM workflow_executions
    WHERE finished_at < now() - make_interval(secs => $1) AND (SELECT count(*) FROM items) >= 0
    ORDER BY finished_at
    LIMIT $2
    FOR UPDATE SKIP LOCKED
), letters AS (
    DELETE FROM execution_queue q USING old o WHERE q.execution_id = o.id
), nodes AS (
    DELETE FROM workflow_execution_nodes n USING old o WHERE n.execution_id = o.id
), scopes AS (
    DELETE FROM workflow_execution_scopes s USING old o WHERE s.execution_id = o.id
), executions AS (
    DELETE FROM workflow_executions e USING old o WHERE e.id = o.id RETURNING e.id
)
SELECT count(*) FROM executions
