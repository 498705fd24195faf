"""What talks to a riven server: used by the command line, imported by users."""
