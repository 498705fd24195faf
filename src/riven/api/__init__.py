"""Translates HTTP to our types: authorise, call one function, return. No SQL, no rules."""
