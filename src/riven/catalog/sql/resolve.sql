-- What starts ask for, all of them in one statement: a publish, an archive or a disabled workspace that was committed
-- before holds for each of them.
-- $1: workspaces; $2: ids of workflows, or $3: their names; $4: versions, null for the latest.
SELECT asked.number, w.id AS workspace_id, w.disabled, coalesce(w.queued_limit, t.queued_limit) AS queued_limit,
       d.id AS workflow_id, d.workspace_id AS owner_id, d.name, d.archived, d.latest_version,
       v.id AS version_id, v.version
FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::int[])
    WITH ORDINALITY AS asked (workspace_id, workflow_id, name, version, number)
LEFT JOIN workspaces w ON w.id = asked.workspace_id
LEFT JOIN workspace_tiers t ON t.name = w.tier
LEFT JOIN LATERAL (
    SELECT id, workspace_id, name, archived_at IS NOT NULL AS archived, latest_version
    FROM workflow_definitions
    WHERE id = asked.workflow_id
    UNION ALL
    SELECT id, workspace_id, name, false, latest_version
    FROM workflow_definitions
    WHERE asked.workflow_id IS NULL AND workspace_id = asked.workspace_id AND name = asked.name
      AND archived_at IS NULL
) d ON true
LEFT JOIN LATERAL (
    SELECT id, version
    FROM workflow_definition_versions
    WHERE workflow_definition_id = d.id AND version = coalesce(asked.version, d.latest_version)
    LIMIT 1  -- found by both columns of the index, however many versions there are
) v ON true
ORDER BY asked.number
