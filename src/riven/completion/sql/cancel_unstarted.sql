-- Nodes that were never started, of a run that ends.
-- $1: execution; $2: run; $3: revision of the latest change before; $4: paths; $5: places; $6: types.
INSERT INTO workflow_execution_nodes (execution_id, path, attempt, run, place, revision, type, status, settled)
SELECT $1, path, 0, $2, place, $3 + number, type, 'CANCELED', 'CANCELED'
FROM unnest($4::text[], $5::text[], $6::text[]) WITH ORDINALITY AS s (path, place, type, number)
ON CONFLICT DO NOTHING
