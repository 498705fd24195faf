-- Items whose owner is dead or unknown, or that were claimed too long ago without being settled, go back in line. Their
-- executions stay RUNNING: the slot is kept until the next owner finds out how far they came.
-- $1: seconds of a lease; $2: seconds after which a CLAIMED item is stale; $3: at most so many. An item that a
-- dispatcher gave to Temporal has no owner and is never found here.
WITH lost AS MATERIALIZED (
    SELECT q.id, q.status = 'CLAIMED' AND p.id IS NOT NULL AS stale
    FROM execution_queue q
    LEFT JOIN processes p
        ON p.id = q.owner_id AND NOT p.dead AND p.seen_at > now() - make_interval(secs => $1)
    WHERE q.owner_id IS NOT NULL AND q.status IN ('CLAIMED', 'DISPATCHED')
      AND (p.id IS NULL OR (q.status = 'CLAIMED' AND q.claimed_at < now() - make_interval(secs => $2)))
    ORDER BY q.id
    LIMIT $3
    FOR UPDATE OF q SKIP LOCKED
)
UPDATE execution_queue q
SET status = 'PENDING', owner_id = NULL, claimed_at = NULL, dispatched_at = NULL,
    available_at = now(), due = true, holds_slot = true
FROM lost l
WHERE q.id = l.id
RETURNING q.id AS queue_id, q.execution_id, q.workspace_id, l.stale
