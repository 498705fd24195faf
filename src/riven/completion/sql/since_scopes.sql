-- The same of items and iterations.
SELECT s.path, s.seq, s.answer, s.output, b.data AS blob, s.error, s.checked_seq, s.checked
FROM workflow_execution_scopes s
LEFT JOIN blobs b ON b.id = s.output_blob_id
WHERE s.execution_id = $1 AND s.run = $2
  AND ((s.answer IS NOT NULL AND (s.seq IS NULL OR s.seq > $3))
       OR (s.checked IS NOT NULL AND (s.checked_seq IS NULL OR s.checked_seq > $3)))
