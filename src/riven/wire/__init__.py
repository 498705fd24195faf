"""Everything persisted or sent between processes: plain dataclasses, additive change only."""
