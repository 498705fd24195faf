-- Accept: executions, their items in line, the audit rows and the keys of their requests, in one statement and so in one
-- commit; many requests share it.
-- A key that is there already, or that somebody else is just writing, leaves out the starts that came with it: who asked
-- for them sees it in what is answered, and asks by itself. Alone ($6 false) a request waits for who is writing its key;
-- together with others it does not, so that a caller's own long transaction holds nobody up but its own repetition. (The
-- lock is what can be looked at without waiting; that there is one row a key, the index sees to.)
-- Keys: $1 workspaces, $2 keys, $3 hashes, $4 responses, $5 their numbers, $6 whether others share the statement.
-- Starts: $7 executions, $8 items, $9 workspaces, $10 workflows, $11 versions' ids, $12 names, $13 versions,
-- $14 priorities, $15 labels, $16 correlationIds, $17 scheduledFor, $18 inputs, $19 triggers, $20 rerunOf, $21 rerunFrom,
-- $22 principals, $23 number of the key or null, $24 ids of audit rows, $25 their details.
WITH keys AS (
    INSERT INTO idempotency_keys (workspace_id, key, request_hash, response)
    SELECT k.workspace_id, k.key, k.request_hash, k.response::json
    FROM unnest($1::uuid[], $2::text[], $3::bytea[], $4::text[]) AS k (workspace_id, key, request_hash, response)
    WHERE CASE WHEN $6 THEN pg_try_advisory_xact_lock(hashtextextended(k.key, hashtext(k.workspace_id::text)))
               ELSE pg_advisory_xact_lock(hashtextextended(k.key, hashtext(k.workspace_id::text))) IS NOT NULL END
    ON CONFLICT DO NOTHING
    RETURNING workspace_id, key
), written AS MATERIALIZED (
    SELECT k.number
    FROM unnest($1::uuid[], $2::text[], $5::int[]) AS k (workspace_id, key, number)
    JOIN keys USING (workspace_id, key)
), starts AS MATERIALIZED (
    SELECT *
    FROM unnest($7::uuid[], $8::uuid[], $9::uuid[], $10::uuid[], $11::uuid[], $12::text[], $13::int[], $14::smallint[],
                $15::text[], $16::text[], $17::timestamptz[], $18::text[], $19::text[], $20::uuid[], $21::text[],
                $22::text[], $23::int[], $24::uuid[], $25::text[])
        AS s (id, queue_id, workspace_id, workflow_id, version_id, name, version, priority, labels, correlation_id,
              scheduled_for, input, trigger, rerun_of, rerun_from, principal, key_number, activity_id, details)
    WHERE s.key_number IS NULL OR s.key_number IN (SELECT number FROM written)
), executions AS (
    INSERT INTO workflow_executions (
        id, workspace_id, workflow_definition_id, workflow_definition_version_id, workflow_name, version, priority, labels,
        correlation_id, scheduled_for, input, trigger, rerun_of, rerun_from, principal
    )
    SELECT id, workspace_id, workflow_id, version_id, name, version, priority, labels::jsonb, correlation_id, scheduled_for,
           input::json, trigger::json, rerun_of, rerun_from, principal
    FROM starts
), audit AS (
    INSERT INTO activity (id, workspace_id, actor, action, subject, details)
    SELECT activity_id, workspace_id, principal, 'execution.started', 'execution:' || id, details::json
    FROM starts
)
INSERT INTO execution_queue (
    id, execution_id, workspace_id, workflow_definition_id, priority, available_at, due, aged_at
)
SELECT queue_id, id, workspace_id, workflow_id, priority, greatest(coalesce(scheduled_for, now()), now()),
       coalesce(scheduled_for <= now(), true), greatest(coalesce(scheduled_for, now()), now())
FROM starts
RETURNING execution_id
