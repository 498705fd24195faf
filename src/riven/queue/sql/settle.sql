-- The engine has it. A start that was told twice, or a token that has moved on, changes nothing.
-- $1: executions; $2: their runs; $3: their tokens; $4: owner afterwards (null: the engine's from here; then also what a
-- flush of the run has settled before whoever started it came to it, and left with him).
UPDATE execution_queue q
SET status = 'DISPATCHED', dispatched_at = now(), owner_id = $4, attempts = 0
FROM workflow_executions e, unnest($1::uuid[], $2::int[], $3::bigint[]) AS s (id, run, token)
WHERE q.execution_id = s.id AND e.id = s.id AND e.run = s.run AND e.token = s.token
  AND (q.status = 'CLAIMED' OR (q.status = 'DISPATCHED' AND q.owner_id IS NOT NULL AND $4::uuid IS NULL))
RETURNING q.id, q.execution_id
