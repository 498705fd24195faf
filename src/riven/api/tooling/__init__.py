"""What editors and forms are made from: validation, the schema of documents, node types."""
