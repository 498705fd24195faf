-- The attempts of runs that are taken up again, with outputs that had to be stored apart.
SELECT n.execution_id, n.path, n.attempt, n.run, n.status, n.settled, n.outcome, n.input, n.output, b.data AS blob,
       n.error_type, n.error_message, n.expanded_seq, n.expanded, n.seq, n.answer, n.next_retry_at
FROM workflow_execution_nodes n
LEFT JOIN blobs b ON b.id = n.output_blob_id
WHERE n.execution_id = $1
ORDER BY n.attempt
