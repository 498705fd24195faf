-- The execution of a control call; its item is locked already.
SELECT id, workspace_id, workflow_definition_id, workflow_definition_version_id, status, phase, run, priority, started_at,
       waiting_kind, waiting_until, revision
FROM workflow_executions
WHERE id = $1
FOR NO KEY UPDATE
