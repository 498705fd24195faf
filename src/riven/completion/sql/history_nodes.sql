-- The attempts of a run that is taken up again, and of the runs before it, with outputs that had to be stored apart.
SELECT n.path, n.attempt, n.run, n.revision, n.status, n.settled, n.outcome, n.input, n.output, b.data AS blob,
       n.error_type, n.error_message, n.expanded_seq, n.expanded, n.seq, n.answer
FROM workflow_execution_nodes n
LEFT JOIN blobs b ON b.id = n.output_blob_id
WHERE n.execution_id = $1
ORDER BY n.run, n.attempt
