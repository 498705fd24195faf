-- How many of a workspace's items stand before one, in the order in which they are served: each of the three kinds of
-- better items is a range of the claim's index. Counted no farther than somebody would want to know.
-- $1: workspace; $2: holds_slot, $3: priority, $4: aged_at, $5: id of the item; $6: how far to count.
SELECT least($6::bigint, (
    SELECT count(*) FROM (
        SELECT FROM execution_queue
        WHERE workspace_id = $1 AND status = 'PENDING' AND due AND holds_slot AND NOT $2 LIMIT $6
    ) slots
) + (
    SELECT count(*) FROM (
        SELECT FROM execution_queue
        WHERE workspace_id = $1 AND status = 'PENDING' AND due AND holds_slot = $2 AND priority > $3 LIMIT $6
    ) better
) + (
    SELECT count(*) FROM (
        SELECT FROM execution_queue
        WHERE workspace_id = $1 AND status = 'PENDING' AND due AND holds_slot = $2 AND priority = $3
          AND (aged_at, id) < ($4::timestamptz, $5::uuid) LIMIT $6
    ) older
))
