-- Milliseconds until the next item comes due; null: none is on its way.
SELECT ceil(extract(epoch FROM min(available_at) - clock_timestamp()) * 1000)::bigint
FROM execution_queue WHERE status = 'PENDING' AND NOT due AND available_at IS NOT NULL
