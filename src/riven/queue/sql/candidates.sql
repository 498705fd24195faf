-- Workspaces that may have something to give, least recently served first. No locks, no counts: both hints are read as
-- they stand, and a recovered item that holds its slot makes its workspace a candidate even when no slot is free.
-- $1: how many; $2: workspaces that were tried in vain already.
WITH holders AS (
    SELECT w.id, w.last_served_at
    FROM (SELECT DISTINCT workspace_id FROM execution_queue WHERE status = 'PENDING' AND due AND holds_slot) q
    JOIN workspaces w ON w.id = q.workspace_id
    WHERE NOT w.disabled AND w.id <> ALL ($2::uuid[])
), servable AS (
    SELECT id, last_served_at
    FROM workspaces
    WHERE NOT idle AND NOT at_capacity AND NOT disabled AND id <> ALL ($2::uuid[])
    ORDER BY last_served_at, id
    LIMIT $1
)
SELECT id FROM (SELECT * FROM holders UNION SELECT * FROM servable) candidates
ORDER BY last_served_at, id
LIMIT $1
