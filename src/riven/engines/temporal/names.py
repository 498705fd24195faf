"""What things are called in Temporal: workflows, the attributes they are found by."""

from uuid import UUID

WORKSPACE = "RivenWorkspaceId"
WORKFLOW = "RivenWorkflowId"
VERSION = "RivenVersionId"
SEARCH_ATTRIBUTES = (WORKSPACE, WORKFLOW, VERSION)
"""Of the type Keyword; they hold ids and nothing else."""

TOKEN = "token"  # noqa: S105 - no secret
"""In the memo of a workflow: with which token it was started."""


def workflow_id(execution_id: UUID, run: int) -> str:
    """Every run of an execution is a workflow of its own."""
    return f"execution-{execution_id}" if run == 1 else f"execution-{execution_id}-r{run}"
