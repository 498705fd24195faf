-- A claimed item whose turn has not come: back in line for a moment, slot kept.
-- $1: execution; $2: who claimed it; $3: seconds.
UPDATE execution_queue
SET status = 'PENDING', owner_id = NULL, claimed_at = NULL,
    available_at = now() + make_interval(secs => $3), due = false, holds_slot = true
WHERE execution_id = $1 AND owner_id = $2 AND status = 'CLAIMED'
