"""Names of things that the core moves. A path names a node in its scopes: `order`, `each[3].send`, `poll[2].check`."""

from typing import NewType

NodeKey = NewType("NodeKey", str)
NodePath = NewType("NodePath", str)
TimerId = NewType("TimerId", str)
ExecutionId = NewType("ExecutionId", str)

ROOT_PATH = NodePath("")
"""The path of the execution itself: its outermost scope."""


def scope_path(container: NodePath, index: int | None) -> NodePath:
    """The path of a container's inner scope; `index` is None for a call, which has exactly one."""
    return container if index is None else NodePath(f"{container}[{index}]")


def node_path(scope: NodePath, key: NodeKey) -> NodePath:
    return NodePath(f"{scope}.{key}") if scope else NodePath(key)
