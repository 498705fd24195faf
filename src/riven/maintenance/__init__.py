"""Duties that repair, end and clear away; one to a file, each safe on every replica, its SQL with the owner of the rows."""
