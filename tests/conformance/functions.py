"""Functions that the conformance tests register. Any process can load this module."""

import hashlib

from riven.authoring import function


@function(name="test.hash")
def hash_of(id: str, parents: list[str]) -> str:
    """The hash of a node of a DAG, as tests/data/dags/README.md defines it."""
    return hashlib.sha256(f"{id}|{','.join(sorted(parents))}".encode()).hexdigest()[:16]
