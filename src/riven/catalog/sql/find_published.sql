-- The versions that a document calls: the one that is named, or the latest.
-- $1: workspace; $2: names; $3: versions, null for the latest.
SELECT asked.name, asked.version AS asked_version, v.version, v.document
FROM unnest($2::text[], $3::int[]) AS asked (name, version)
JOIN workflow_definitions d
    ON d.workspace_id = $1 AND d.name = asked.name AND d.archived_at IS NULL
CROSS JOIN LATERAL (
    SELECT version, document::text AS document
    FROM workflow_definition_versions
    WHERE workflow_definition_id = d.id AND version = coalesce(asked.version, d.latest_version)
    LIMIT 1
) v
