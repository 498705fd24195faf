-- A run stands in line again: resumed, or retried. Its item is made anew where somebody has deleted it.
-- $1: execution; $2: workspace; $3: definition; $4: priority; $5: when it is due, null or past: now; $6: forget what went
-- wrong with earlier starts; $7: the id of a new item.
INSERT INTO execution_queue AS q (id, execution_id, workspace_id, workflow_definition_id, priority, available_at, due)
VALUES ($7, $1, $2, $3, $4, greatest(coalesce($5::timestamptz, now()), now()), coalesce($5::timestamptz <= now(), true))
ON CONFLICT (execution_id) DO UPDATE
SET status = 'PENDING', owner_id = NULL, claimed_at = NULL, dispatched_at = NULL, failed_at = NULL, holds_slot = false,
    available_at = excluded.available_at, due = excluded.due,
    attempts = CASE WHEN $6 THEN 0 ELSE q.attempts END,
    last_error = CASE WHEN $6 THEN NULL ELSE q.last_error END,
    waiting_kind = CASE WHEN $6 OR excluded.due THEN NULL ELSE q.waiting_kind END
RETURNING id
