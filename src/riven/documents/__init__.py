"""YAML or JSON text to a document and its core graph; every problem with line and path."""
