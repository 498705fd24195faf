-- Control events that were taken in, in their order, then those that nobody has read yet, in theirs.
SELECT id, kind, name, path, payload, seq, created_at, principal
FROM signals
WHERE execution_id = $1 AND NOT void AND (seq IS NULL OR run = $2)
ORDER BY seq NULLS LAST, created_at, id
