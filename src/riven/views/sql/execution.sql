-- One execution with all that is shown of it; an output that is too large for its row stands apart.
-- $1: execution; $2: workspace.
SELECT e.id, e.workspace_id, e.workflow_definition_version_id, e.workflow_name, e.version, e.status, e.phase, e.run,
       e.priority, e.labels, e.correlation_id, e.scheduled_for, e.error_type, e.error_node, e.error_message, e.rerun_of,
       e.created_at, e.started_at, e.finished_at, e.duration_ms, e.revision, e.input, e.output, b.data AS blob
FROM workflow_executions e
LEFT JOIN blobs b ON b.id = e.output_blob_id
WHERE e.id = $1 AND e.workspace_id = $2
