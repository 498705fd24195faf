-- The engine has it. A start that was told twice, or a token that has moved on, changes nothing.
-- $1: executions; $2: their runs; $3: their tokens; $4: owner afterwards (null: the engine's from here).
UPDATE execution_queue q
SET status = 'DISPATCHED', dispatched_at = now(), owner_id = $4, attempts = 0
FROM workflow_executions e, unnest($1::uuid[], $2::int[], $3::bigint[]) AS s (id, run, token)
WHERE q.execution_id = s.id AND q.status = 'CLAIMED' AND e.id = s.id AND e.run = s.run AND e.token = s.token
RETURNING q.id, q.execution_id
