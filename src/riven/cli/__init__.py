"""Parses arguments, prints; talks HTTP through the client, or runs the embedded engine in memory; never a database."""
