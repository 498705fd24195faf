"""What stands in the columns `status` of executions: apart from the tables, so that readers need not load them."""

UNFINISHED = ("PENDING", "RUNNING", "WAITING", "PAUSED")
FINISHED = ("COMPLETED", "FAILED", "CANCELED")
