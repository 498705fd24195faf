-- What a crash between a commit and the clearing of a hint left behind. Looks at every workspace that has something due.
WITH RECURSIVE lines AS (
    (SELECT workspace_id FROM execution_queue WHERE status = 'PENDING' AND due ORDER BY workspace_id LIMIT 1)
    UNION ALL
    SELECT (SELECT q.workspace_id FROM execution_queue q
            WHERE q.status = 'PENDING' AND q.due AND q.workspace_id > lines.workspace_id
            ORDER BY q.workspace_id LIMIT 1)
    FROM lines WHERE lines.workspace_id IS NOT NULL
)
SELECT w.id FROM lines l JOIN workspaces w ON w.id = l.workspace_id WHERE w.idle OR w.at_capacity
