"""How full a workspace is."""
