-- What the workers of an engine elsewhere say of it, those that were seen lately.
SELECT count(*) > 0 AS seen, CASE WHEN bool_and(engine_error IS NOT NULL) THEN max(engine_error) END AS error
FROM processes
WHERE role = 'worker' AND engine <> 'embedded' AND NOT dead AND seen_at > now() - interval '30 seconds'
