-- An item that could not even be claimed: an attempt, and back in line after a while.
-- $1: item; $2: seconds after the first attempt, doubling; $3: at most so many; $4: error.
UPDATE execution_queue
SET attempts = attempts + 1, last_error = $4, due = false, waiting_kind = 'dispatch_retry',
    available_at = now() + make_interval(secs => least($2::float8 * 2 ^ least(attempts, 10), $3::float8))
WHERE id = $1 AND status = 'PENDING'
RETURNING execution_id, workspace_id, attempts
