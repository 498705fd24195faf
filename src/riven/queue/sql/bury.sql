-- Processes whose lease has run out. They may still live: then they register anew before they claim again.
UPDATE processes SET dead = true
WHERE NOT dead AND seen_at < now() - make_interval(secs => $1)
RETURNING id, role, name
