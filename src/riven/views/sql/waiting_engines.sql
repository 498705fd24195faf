-- What the processes that claim say of themselves, those that were seen lately. With Temporal these are its dispatchers.
SELECT count(*) > 0 AS seen, coalesce(bool_or(enabled), false) AS enabled,
       CASE WHEN bool_and(engine_error IS NOT NULL) THEN max(engine_error) END AS error
FROM processes
WHERE (role = 'dispatcher' OR (role = 'worker' AND engine = 'embedded'))
  AND NOT dead AND seen_at > now() - interval '30 seconds'
