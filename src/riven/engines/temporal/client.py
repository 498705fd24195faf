"""The engine as those see it who start and steer runs: requests to a Temporal server, each safe to repeat."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, NoReturn
from uuid import UUID

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.client import Client, WorkflowExecutionDescription, WorkflowExecutionStatus, WorkflowHandle
from temporalio.client import WorkflowHistoryEventFilterType as Which
from temporalio.common import (
    SearchAttributeKey,
    SearchAttributePair,
    TypedSearchAttributes,
    WorkflowIDConflictPolicy,
    WorkflowIDReusePolicy,
)
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.service import RPCError, RPCStatusCode, TLSConfig

from riven.core.graph import RetryPolicy
from riven.engines.port import (
    Description,
    DriveStatus,
    EngineAwayError,
    StartRefusedError,
    StartRequest,
    StartResult,
    StartUncertainError,
)
from riven.engines.temporal.converter import CONVERTER
from riven.engines.temporal.names import (
    SEARCH_ATTRIBUTES,
    TOKEN,
    VERSION,
    WORKFLOW,
    WORKSPACE,
    workflow_id,
)
from riven.wire.admission import RULES_VERSION, freeze
from riven.wire.temporal import ADMITTED, CONTINUE_AFTER, CONTROL, WORKFLOW_TYPE, RunInput

PATIENCE = timedelta(seconds=10)
"""For one request."""
ROOM = 200
"""Starts that a dispatcher may have under way; how many runs are driven is no matter of whoever starts them."""
_TRIES = 3
"""Looks at a workflow that closes while it is looked at."""

_KEYWORD = IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD
_UNSURE = frozenset(
    {
        RPCStatusCode.DEADLINE_EXCEEDED,
        RPCStatusCode.CANCELLED,
        RPCStatusCode.UNKNOWN,
        RPCStatusCode.INTERNAL,
        RPCStatusCode.ABORTED,
        RPCStatusCode.DATA_LOSS,
    }
)
"""Answers that do not say whether a start was taken."""
_REFUSED = frozenset({RPCStatusCode.INVALID_ARGUMENT, RPCStatusCode.OUT_OF_RANGE})
_STATUSES = {
    WorkflowExecutionStatus.RUNNING: DriveStatus.OPEN,
    WorkflowExecutionStatus.CONTINUED_AS_NEW: DriveStatus.OPEN,
    WorkflowExecutionStatus.COMPLETED: DriveStatus.COMPLETED,
    WorkflowExecutionStatus.FAILED: DriveStatus.FAILED,
    WorkflowExecutionStatus.CANCELED: DriveStatus.CANCELED,
    WorkflowExecutionStatus.TERMINATED: DriveStatus.TERMINATED,
    WorkflowExecutionStatus.TIMED_OUT: DriveStatus.TIMED_OUT,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """Contents of PEM files, as far as they are needed; none: the authorities that this machine trusts."""

    server_ca: bytes | None = None
    client_certificate: bytes | None = None
    client_key: bytes | None = None
    server_name: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporalAddress:
    address: str
    """host:port"""
    namespace: str = "default"
    tls: Tls | None = None
    """None: none is spoken, not even for a key."""
    api_key: str | None = None


async def connect(where: TemporalAddress, *, at_once: bool = False) -> Client:
    """A client, without a request: the server may be away. Each of its requests is tried again for some seconds.

    `at_once`: connected, as workers need it, which raises EngineAwayError.
    """
    tls: TLSConfig | bool = False  # said, for the library would speak it wherever there is a key
    if where.tls is not None:
        tls = TLSConfig(
            server_root_ca_cert=where.tls.server_ca,
            client_cert=where.tls.client_certificate,
            client_private_key=where.tls.client_key,
            domain=where.tls.server_name,
        )
    try:
        return await Client.connect(
            where.address,
            namespace=where.namespace,
            tls=tls,
            api_key=where.api_key,
            lazy=not at_once,
            data_converter=CONVERTER,
        )
    except RuntimeError as error:
        _away(error)


async def check_connection(client: Client) -> None:
    """Raises EngineAwayError when the server does not answer, or does not know the namespace."""
    try:
        await client.count_workflows(
            f"WorkflowType = '{WORKFLOW_TYPE}' AND ExecutionStatus = 'Running'", rpc_timeout=PATIENCE
        )
    except (RPCError, RuntimeError) as error:
        _away(error)


async def register_search_attributes(client: Client) -> None:
    """Make the attributes known that workflows are found by; those that are known stay. Raises EngineAwayError."""
    operator = client.operator_service
    try:
        known = await operator.list_search_attributes(
            ListSearchAttributesRequest(namespace=client.namespace), timeout=PATIENCE
        )
        missing = {name: _KEYWORD for name in SEARCH_ATTRIBUTES if name not in known.custom_attributes}
        if missing:
            await operator.add_search_attributes(
                AddSearchAttributesRequest(namespace=client.namespace, search_attributes=missing),
                timeout=PATIENCE,
            )
    except RPCError as error:
        if error.status is not RPCStatusCode.ALREADY_EXISTS:  # somebody else was faster
            _away(error)
    except RuntimeError as error:
        _away(error)


class TemporalEngine:
    """Fits the port `DistantEngine`. One for each process; many of them side by side are no trouble."""

    def __init__(
        self,
        client: Client,
        *,
        task_queue: str,
        retry: RetryPolicy,
        room: int = ROOM,
        continue_after: int = CONTINUE_AFTER,
        execution_timeout: timedelta | None = None,
    ) -> None:
        """`retry`: defaults of executions that have never been admitted. `execution_timeout`: of tests alone."""
        self._client = client
        self._task_queue = task_queue
        self._retry = retry
        self._room = room
        self._continue_after = continue_after
        self._execution_timeout = execution_timeout

    @property
    def room(self) -> int:
        return self._room

    @property
    def running(self) -> Sequence[UUID]:
        return ()

    @property
    def drives_suspect(self) -> bool:
        return False

    def control(self, execution_id: UUID) -> None:
        """Nothing is driven here."""

    async def start(self, request: StartRequest) -> StartResult:
        """Start the workflow of a run, or tell the one that is there that it was admitted again.

        A workflow that has closed is started anew only for a newer token than it had: then it was closed without its
        end being recorded, or the run was not its to drive. A new one finds in the journal what was done.
        """
        policy = WorkflowIDReusePolicy.REJECT_DUPLICATE
        for _ in range(_TRIES):
            try:
                await self._start(request, policy)
            except WorkflowAlreadyStartedError:
                pass
            else:
                return StartResult.STARTED
            handle = self._handle(request.execution_id, request.run)
            found = await self._describe(handle)
            if found.status is DriveStatus.OPEN:
                if await self._tell(handle, ADMITTED, request.token):
                    return StartResult.ALREADY_RUNNING
            elif found.status is not DriveStatus.UNKNOWN:
                if found.token is None or request.token <= found.token:
                    return StartResult.ALREADY_FINISHED
                policy = WorkflowIDReusePolicy.ALLOW_DUPLICATE
        raise StartUncertainError("the workflow of the run opens and closes while it is being started")

    async def signal(self, execution_id: UUID, run: int, controls: Sequence[UUID]) -> bool:
        return await self._tell(self._handle(execution_id, run), CONTROL, [str(each) for each in controls])

    async def cancel(self, execution_id: UUID, run: int) -> bool:
        try:
            await self._handle(execution_id, run).cancel(rpc_timeout=PATIENCE)
        except (RPCError, RuntimeError) as error:
            return _not_there(error)
        return True

    async def describe(self, execution_id: UUID, run: int) -> Description:
        return await self._describe(self._handle(execution_id, run))

    # ---- requests ----------------------------------------------------------------------------------------------------

    def _handle(self, execution_id: UUID, run: int) -> WorkflowHandle[Any, Any]:
        return self._client.get_workflow_handle(workflow_id(execution_id, run))

    async def _start(self, request: StartRequest, policy: WorkflowIDReusePolicy) -> None:
        frozen = request.frozen or freeze(request.started_at, self._retry)
        given = RunInput(
            execution_id=str(request.execution_id),
            workspace_id=str(request.workspace_id),
            version_id=str(request.version_id),
            run=request.run,
            token=request.token,
            rules_version=frozen.get("rulesVersion", RULES_VERSION),
            frozen=frozen,
            continue_after=self._continue_after,
        )
        try:
            await self._client.start_workflow(
                WORKFLOW_TYPE,
                given,
                id=workflow_id(request.execution_id, request.run),
                task_queue=self._task_queue,
                id_reuse_policy=policy,
                id_conflict_policy=WorkflowIDConflictPolicy.FAIL,
                memo={TOKEN: request.token},
                search_attributes=_attributes(request),
                execution_timeout=self._execution_timeout,
                rpc_timeout=PATIENCE,
            )
        except RPCError as error:
            _start_failed(error)
        except RuntimeError as error:
            _away(error)

    async def _describe(self, handle: WorkflowHandle[Any, Any]) -> Description:
        try:
            found = await handle.describe(rpc_timeout=PATIENCE)
            status = DriveStatus.UNKNOWN if found.status is None else _STATUSES.get(found.status)
            reason = await _reason(handle, found) if status is DriveStatus.TERMINATED else None
            token = (await found.memo()).get(TOKEN)
        except (RPCError, RuntimeError) as error:
            _not_there(error)
            return Description(status=DriveStatus.UNKNOWN)
        return Description(status=status or DriveStatus.OPEN, token=token, reason=reason)

    async def _tell(self, handle: WorkflowHandle[Any, Any], name: str, what: object) -> bool:
        try:
            await handle.signal(name, what, rpc_timeout=PATIENCE)
        except (RPCError, RuntimeError) as error:
            return _not_there(error)
        return True


async def _reason(handle: WorkflowHandle[Any, Any], found: WorkflowExecutionDescription) -> str | None:
    """What somebody said who terminated it."""
    del found
    async for event in handle.fetch_history_events(event_filter_type=Which.CLOSE_EVENT, rpc_timeout=PATIENCE):
        return event.workflow_execution_terminated_event_attributes.reason or None
    return None


def _attributes(request: StartRequest) -> TypedSearchAttributes:
    values = {
        WORKSPACE: request.workspace_id,
        WORKFLOW: request.workflow_id,
        VERSION: request.version_id,
    }
    return TypedSearchAttributes(
        [
            SearchAttributePair(SearchAttributeKey.for_keyword(name), str(value))
            for name, value in values.items()
        ]
    )


def _start_failed(error: RPCError) -> NoReturn:
    if error.status in _UNSURE:
        raise StartUncertainError(_say(error)) from error
    if error.status in _REFUSED and "search attribute" not in error.message:
        raise StartRefusedError(_say(error)) from error
    _away(error)


def _not_there(error: RPCError | RuntimeError) -> bool:
    """False for a workflow that is unknown or closed. Raises EngineAwayError for everything else."""
    unknown = isinstance(error, RPCError) and error.status is RPCStatusCode.NOT_FOUND
    if not unknown or str(error).startswith("Namespace "):
        _away(error)
    return False


def _away(error: RPCError | RuntimeError) -> NoReturn:
    raise EngineAwayError(_say(error)) from error


def _say(error: RPCError | RuntimeError) -> str:
    """One line: what it names beside that is of the library's insides."""
    text = error.message if isinstance(error, RPCError) else str(error)
    if "ConnectionRefused" in text:
        return "Temporal is not reachable: connection refused"
    return f"Temporal: {text.splitlines()[0] if text else type(error).__name__}"
