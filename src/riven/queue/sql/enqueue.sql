-- $1 items, $2 executions, $3 workspaces, $4 definitions, $5 priorities, $6 scheduledFor (null or past: now).
INSERT INTO execution_queue (id, execution_id, workspace_id, workflow_definition_id, priority, available_at, due, aged_at)
SELECT id, execution_id, workspace_id, workflow_definition_id, priority, greatest(coalesce(scheduled_for, now()), now()),
       coalesce(scheduled_for <= now(), true), greatest(coalesce(scheduled_for, now()), now())
FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::uuid[], $5::smallint[], $6::timestamptz[])
    AS s (id, execution_id, workspace_id, workflow_definition_id, priority, scheduled_for)
