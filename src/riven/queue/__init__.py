"""The line in front of the engine: rows, leases and wake-ups; nothing of graphs, nodes or engines.

Theory of operation. An execution has at most one item in line. Its slot is no row and no counter here: it is the
status RUNNING of the execution, taken by the claim in the transaction that counted under the workspace's lock.
Nothing that waits is ever written to: a claim reads candidates without locks, locks the workspaces it will serve,
counts and chooses in a new statement, and only then touches the rows it takes.

Two hints on a workspace keep the claim from looking at those that can give it nothing: `idle` (nothing is due) and
`at_capacity` (something is due, no slot is free). A hint may be wrong only for a moment. Whoever sets one commits and
looks once more; whoever makes an item due, or frees a slot, commits and then clears it: so one of the two always sees
the other. What a crash leaves in between, the reconciler clears.

Lock order everywhere: workspace, item, execution, nodes; each kind by id.
"""
