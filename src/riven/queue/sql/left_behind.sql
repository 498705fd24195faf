-- Cancels that nobody has read of runs that are over: they were ended by their rows, and an engine elsewhere may have them.
-- $1: at most so many.
SELECT g.execution_id, g.run, array_agg(g.id) AS controls
FROM signals g
JOIN workflow_executions e ON e.id = g.execution_id
WHERE g.seq IS NULL AND NOT g.void AND g.kind = 'CANCEL' AND (e.finished_at IS NOT NULL OR g.run < e.run)
GROUP BY g.execution_id, g.run
ORDER BY g.execution_id
LIMIT $1
