-- What items and iterations left, and whether the next iteration was to follow; of all runs.
SELECT s.path, s.run, s.seq, s.answer, s.output, b.data AS blob, s.error, s.checked_seq, s.checked
FROM workflow_execution_scopes s
LEFT JOIN blobs b ON b.id = s.output_blob_id
WHERE s.execution_id = $1
