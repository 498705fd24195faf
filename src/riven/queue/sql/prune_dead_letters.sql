-- Dead letters leave after some days; their executions stay.
-- $1: seconds; $2: at most so many.
DELETE FROM execution_queue
WHERE id IN (
    SELECT id FROM execution_queue
    WHERE status = 'FAILED' AND failed_at < now() - make_interval(secs => $1)
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)
