"""Parses and evaluates CEL templates; bounded; the only importer of the CEL library."""
