"""Runs in this process: driver, performer and a journal that is a port."""
