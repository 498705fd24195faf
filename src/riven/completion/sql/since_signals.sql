-- The same of what was asked of the run, and of its timers.
SELECT id, kind, name, path, payload, seq, created_at
FROM signals
WHERE execution_id = $1 AND run = $2 AND seq > $3 AND NOT void
