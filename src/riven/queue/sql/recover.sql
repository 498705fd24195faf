-- Items whose owner was judged dead or is unknown, or that were claimed too long ago without being settled, go back in
-- line. Their executions stay RUNNING: the slot is kept until the next owner finds out how far they came.
-- A death counts against the run that was driven while it happened. A suspect is settled before it is driven, so one
-- that is only CLAIMED still waited for its turn. A dispatcher drives nothing: its death counts against no run;
-- nor does one while somebody else holds the row of the execution, so that he holds up nobody.
-- $1: seconds after which a CLAIMED item is stale; $2: at most so many; $3: deaths after which a run is a suspect. An
-- item that a dispatcher gave to Temporal has no owner and is never found here.
WITH lost AS MATERIALIZED (
    SELECT q.id, q.execution_id, q.status, p.id IS NOT NULL AND NOT p.dead AS stale,
           coalesce(p.role = 'dispatcher', false) AS dispatched
    FROM execution_queue q
    LEFT JOIN processes p ON p.id = q.owner_id
    WHERE q.owner_id IS NOT NULL AND q.status IN ('CLAIMED', 'DISPATCHED')
      AND (p.id IS NULL OR p.dead OR (q.status = 'CLAIMED' AND q.claimed_at < now() - make_interval(secs => $1)))
    ORDER BY q.id
    LIMIT $2
    FOR UPDATE OF q SKIP LOCKED
), driven AS MATERIALIZED (
    SELECT e.id
    FROM workflow_executions e
    JOIN lost l ON l.execution_id = e.id
    WHERE e.status = 'RUNNING' AND NOT l.stale AND NOT l.dispatched AND (NOT e.suspect OR l.status = 'DISPATCHED')
    ORDER BY e.id
    FOR NO KEY UPDATE OF e SKIP LOCKED
), counted AS (
    UPDATE workflow_executions e
    SET recoveries = e.recoveries + 1, suspect = e.recoveries + 1 >= $3
    FROM driven d
    WHERE e.id = d.id
    RETURNING e.id, e.run, e.token, e.recoveries
)
UPDATE execution_queue q
SET status = 'PENDING', owner_id = NULL, claimed_at = NULL, dispatched_at = NULL,
    available_at = now(), due = true, holds_slot = true
FROM lost l
LEFT JOIN counted c ON c.id = l.execution_id
WHERE q.id = l.id
RETURNING q.id AS queue_id, q.execution_id, q.workspace_id, l.stale, c.run, c.token, c.recoveries
