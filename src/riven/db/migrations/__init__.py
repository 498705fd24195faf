"""Schema changes, pre (before the new code) and post (after it): old code lives on the new schema."""
