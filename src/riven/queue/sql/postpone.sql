-- A claimed item that is not started now: its turn has not come, or nobody knows whether the engine has it. Back in line
-- for a moment, slot kept.
-- $1: execution; $2: who claimed it; $3: seconds; $4: why it waits, $5: the error, if there is one.
UPDATE execution_queue
SET status = 'PENDING', owner_id = NULL, claimed_at = NULL,
    available_at = now() + make_interval(secs => $3), due = false, holds_slot = true,
    waiting_kind = $4, last_error = coalesce($5, last_error)
WHERE execution_id = $1 AND owner_id = $2 AND status = 'CLAIMED'
