-- Inputs and outputs of attempts.
-- $1: execution; $2: paths; $3: their attempts.
SELECT n.path, n.input, n.output, b.data AS blob
FROM unnest($2::text[], $3::int[]) AS s (path, attempt)
JOIN workflow_execution_nodes n ON n.execution_id = $1 AND n.path = s.path AND n.attempt = s.attempt
LEFT JOIN blobs b ON b.id = n.output_blob_id
