"""The only writer of node and execution outcomes; idempotent by (execution, path, attempt); many runs in one commit."""
