-- Control events that this run has taken in, in their order, then those that nobody has read yet, in theirs. A signal that
-- no node has taken is for a later run too; what else was asked of an earlier run is not.
SELECT id, kind, name, path, payload, seq, created_at, principal
FROM signals
WHERE execution_id = $1 AND NOT void AND (run = $2 OR (seq IS NULL AND kind = 'SIGNAL'))
ORDER BY seq NULLS LAST, created_at, id
