-- Answers of a run that were recorded or taken in after a place in its journal; others have read what stands before it.
-- $1: execution; $2: run; $3: the place.
SELECT n.path, n.attempt, n.input, n.output, b.data AS blob, n.error_type, n.error_message, n.expanded_seq, n.expanded,
       n.seq, n.answer
FROM workflow_execution_nodes n
LEFT JOIN blobs b ON b.id = n.output_blob_id
WHERE n.execution_id = $1 AND n.run = $2
  AND ((n.answer IS NOT NULL AND (n.seq IS NULL OR n.seq > $3))
       OR (n.expanded IS NOT NULL AND (n.expanded_seq IS NULL OR n.expanded_seq > $3)))
ORDER BY n.attempt
