-- A process that serves the queue, or one that was judged dead and comes back: it holds nothing from before.
INSERT INTO processes (id, role, name, room, engine, enabled) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (id) DO UPDATE SET dead = false, seen_at = now(), room = excluded.room
