"""The line: single items, and those that failed for good."""
