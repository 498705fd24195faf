-- Items whose time has come. Every claim loop runs this, at the next due time and at least each second.
-- $1: at most so many; $2: only this one, null for any.
UPDATE execution_queue
SET due = true
WHERE id IN (
    SELECT id FROM execution_queue
    WHERE status = 'PENDING' AND NOT due AND available_at <= now() AND ($2::uuid IS NULL OR id = $2)
    ORDER BY available_at
    LIMIT $1
    FOR UPDATE SKIP LOCKED
)
RETURNING workspace_id
