"""How a process reaches Temporal."""

import functools
import logging
from pathlib import Path

from temporalio.client import Client
from temporalio.runtime import LogForwardingConfig, LoggingConfig, Runtime, TelemetryConfig, TelemetryFilter

from riven.engines.temporal.client import (
    TemporalAddress,
    TemporalEngine,
    Tls,
    connect,
    register_search_attributes,
)
from riven.main.retries import retry_policy
from riven.settings import Settings


@functools.cache
def log_as_we_do() -> None:
    """What the library below says goes into the process's log, not beside it. Before its first client is made."""
    forwarding = LogForwardingConfig(logging.getLogger("temporalio"), append_target_to_name=False)
    telemetry = TelemetryConfig(
        logging=LoggingConfig(TelemetryFilter(core_level="WARN", other_level="ERROR"), forwarding=forwarding)
    )
    Runtime.set_default(Runtime(telemetry=telemetry), error_if_already_set=False)


def address_of(settings: Settings) -> TemporalAddress:
    log_as_we_do()
    return TemporalAddress(
        address=settings.temporal(),
        namespace=settings.temporal_namespace,
        tls=_tls(settings),
        api_key=settings.temporal_api_key,
    )


async def open_client(settings: Settings) -> Client:
    """Without asking the server anything: it may be away."""
    return await connect(address_of(settings))


async def open_engine(settings: Settings) -> TemporalEngine:
    client = await open_client(settings)
    return TemporalEngine(client, task_queue=settings.temporal_task_queue, retry=retry_policy(settings))


async def register(settings: Settings) -> None:
    """What workflows are found by. Raises EngineAwayError."""
    await register_search_attributes(await open_client(settings))


def _tls(settings: Settings) -> Tls | None:
    files = (settings.temporal_tls_ca_file, settings.temporal_tls_cert_file, settings.temporal_tls_key_file)
    name = settings.temporal_tls_server_name
    wanted = settings.temporal_tls
    if wanted is None:
        wanted = settings.temporal_api_key is not None or name is not None or any(files)
    if not wanted:
        return None
    authorities, certificate, key = (None if file is None else Path(file).read_bytes() for file in files)
    return Tls(server_ca=authorities, client_certificate=certificate, client_key=key, server_name=name)
