-- An execution, for a process that takes part in driving it.
SELECT e.id, e.run, e.token, e.status, e.workspace_id, w.name AS workspace_name, e.workflow_name, e.version,
       e.workflow_definition_version_id, e.input, e.trigger, e.started_at, e.run_started_at, e.retry_defaults, e.base_seq, e.error_type,
       now() AS now,
       EXISTS (SELECT FROM signals g WHERE g.execution_id = e.id AND g.seq IS NULL AND NOT g.void) AS asked
FROM workflow_executions e
LEFT JOIN workspaces w ON w.id = e.workspace_id
WHERE e.id = $1
