"""What is refused about workflows; `tenancy.errors` says whose move each kind is."""

from riven.tenancy.errors import (
    ChangedError,
    ForbiddenError,
    InvalidRequestError,
    NotFoundError,
    WrongStateError,
)


class WorkflowNotFoundError(NotFoundError):
    """There is none of this name or id, or it was archived."""

    code = "workflow_not_found"


class VersionNotFoundError(NotFoundError):
    code = "version_not_found"


class ForeignWorkflowError(ForbiddenError):
    """It is there, but in another workspace."""

    code = "foreign_workflow"


class WorkflowNotPublishedError(WrongStateError):
    """There is a draft and no version: nothing that could run."""

    code = "workflow_not_published"


class WorkflowInvalidError(InvalidRequestError):
    """The draft cannot become a version; `problems` holds all that is wrong with it."""

    code = "invalid_workflow"


class DraftChangedError(ChangedError):
    """Somebody else has saved the draft meanwhile, or it is not there."""
