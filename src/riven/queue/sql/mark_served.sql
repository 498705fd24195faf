-- After choosing, under the lock: who was served goes to the back, and the hints say who has nothing to give.
-- $1: workspaces; $2: served now; $3: nothing due is left; $4: something due is left and no slot is free.
UPDATE workspaces w
SET last_served_at = CASE WHEN s.served THEN clock_timestamp() ELSE w.last_served_at END,
    idle = s.idle, at_capacity = s.at_capacity
FROM unnest($1::uuid[], $2::bool[], $3::bool[], $4::bool[]) AS s (id, served, idle, at_capacity)
WHERE w.id = s.id
