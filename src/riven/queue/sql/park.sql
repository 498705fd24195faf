-- The runs wait: their slots are free, their items come due at the earliest timer, or when somebody wakes them.
-- $1: executions; $2: due times (null: never). The caller has locked the executions by run and token, items first.
UPDATE execution_queue q
SET status = 'PENDING', owner_id = NULL, claimed_at = NULL, dispatched_at = NULL, holds_slot = false,
    available_at = s.available_at, due = coalesce(s.available_at <= now(), false)
FROM unnest($1::uuid[], $2::timestamptz[]) AS s (execution_id, available_at)
WHERE q.execution_id = s.execution_id
