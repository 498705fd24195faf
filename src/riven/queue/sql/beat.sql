-- The sign of life, given by the loop that does the work. No row back: somebody has judged this process dead.
UPDATE processes SET seen_at = now(), room = $2, engine_error = $3 WHERE id = $1 AND NOT dead RETURNING id
