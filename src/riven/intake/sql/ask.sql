-- A control event, written under the locks of item and execution: by the clock, not by the transaction's beginning, so
-- that events of one execution are in the order in which their locks were had.
-- $1: id; $2: execution; $3: kind; $4: name; $5: path; $6: payload; $7: run; $8: acted on already; $9: who asks.
INSERT INTO signals (id, execution_id, kind, name, path, payload, run, void, principal, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, clock_timestamp())
