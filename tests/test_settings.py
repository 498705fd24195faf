"""Settings are read from names and texts alone; what cannot be used is refused with what to write."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from riven.settings import CLIENT_VARIABLES, Settings, SettingsError, variable

SOURCE = Path(__file__).parents[1] / "src" / "riven"


def refused(**environment: str) -> tuple[str, ...]:
    with pytest.raises(SettingsError) as caught:
        Settings.read({f"RIVEN_{name}": value for name, value in environment.items()})
    return caught.value.problems


def test_without_any_variable_everything_has_its_default() -> None:
    settings = Settings.read({"PATH": "/bin", "RIVENDELL": "far"})
    assert settings == Settings()
    assert (settings.lease_ttl, settings.queue_stale_after, settings.stale_sweep_interval) == (15, 300, 60)
    assert (settings.drain_timeout, settings.dispatch_poll_interval) == (20, 5)
    assert (settings.queue_max_attempts, settings.workflow_engine_enabled) == (3, True)


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("DATABASE_URL", "postgresql://a:b@c:1/d?sslmode=require", "postgresql://a:b@c:1/d?sslmode=require"),
        ("WORKFLOW_ENGINE_ENABLED", "False", False),
        ("WORKFLOW_ENGINE_ENABLED", "on", True),
        ("DISPATCH_POLL_INTERVAL", "500ms", 0.5),
        ("LEASE_TTL", "PT30S", 30),
        ("DRAIN_TIMEOUT", "0", 0),
        ("DRAIN_TIMEOUT", " 1m ", 60),
        ("NODE_TIMEOUT", "2h", 7_200),
        ("HISTORY_RETENTION", "90d", 90 * 86_400),
        ("RETRY_MULTIPLIER", "1.5", 1.5),
        ("FUNCTIONS", "crm.jobs, ./more.py ,", ("crm.jobs", "./more.py")),
        ("HTTP_ALLOW", "intranet:8080,10.0.0.0/8", ("intranet:8080", "10.0.0.0/8")),
        ("LOG_FORMAT", "TEXT", "text"),
        ("ENGINE", "embedded", "embedded"),
        ("ENGINE", "Temporal", "temporal"),
        ("TEST_CRASH_AT", "after_claim", ("after_claim", 1)),
        ("TEST_CRASH_AT", "after_claim:3", ("after_claim", 3)),
        ("PORT", "", 8642),
    ],
)
def test_values_are_read_as_people_write_them(name: str, text: str, value: object) -> None:
    assert getattr(Settings.read({f"RIVEN_{name}": text}), name.lower()) == value


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("DATABASE_URL", "mysql://u:secret@h/d", "postgresql://user:password@host:5432/database"),
        ("DATABASE_URL", "postgresql://u:secret@h:port/d", "postgresql://user:password@host:5432/database"),
        ("WORKFLOW_ENGINE_ENABLED", "maybe", "neither true nor false"),
        ("DISPATCH_POLL_INTERVAL", "5 parsecs", "write for example 500ms"),
        ("DISPATCH_POLL_INTERVAL", "-1s", "cannot be negative"),
        ("LEASE_TTL", "1ms", "is not between 500ms and 1h"),
        ("DISPATCH_BATCH_SIZE", "0", "between 1 and 1000"),
        ("QUEUE_MAX_ATTEMPTS", "3.5", "no whole number"),
        ("QUEUE_MAX_ATTEMPTS", "²", "no whole number"),
        ("QUEUE_MAX_ATTEMPTS", "9" * 5_000, "no whole number"),
        ("RETRY_MULTIPLIER", "nan", "no number between"),
        ("HTTP_ALLOW", "10.0.0.0/8,not a host", "not a host"),
        ("LOG_FORMAT", "xml", "write json or text"),
        ("ENGINE", "warp", "write embedded or temporal"),
        ("OIDC_ISSUER", "login.example", "write https://"),
        ("TEST_CRASH_AT", "after_claim:often", "no whole number"),
    ],
)
def test_a_wrong_value_is_refused_with_its_name_and_what_to_write(name: str, text: str, said: str) -> None:
    (problem,) = refused(**{name: text})
    assert problem.startswith(f"RIVEN_{name}: ")
    assert said in problem
    assert "secret" not in problem
    assert len(problem) < 300


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("LEASE_TLL", "did you mean 'RIVEN_LEASE_TTL'?"),
        ("DATABASEURL", "did you mean 'RIVEN_DATABASE_URL'?"),
        ("FROBNICATE", "there is no such setting"),
        ("TEMPORAL_TLS_CERT", "did you mean 'RIVEN_TEMPORAL_TLS_CERT_FILE'?"),
        ("SECRET_KEY_FILE", "secrets are not part of this version; unset it"),
    ],
)
def test_a_name_without_effect_is_refused(name: str, said: str) -> None:
    (problem,) = refused(**{name: "x"})
    assert problem.startswith(f"RIVEN_{name}: ")
    assert said in problem


def test_everything_that_is_wrong_is_told_at_once() -> None:
    problems = refused(LEASE_TTL="x", PORT="y", FROB="z")
    assert [problem.partition(":")[0] for problem in problems] == [
        "RIVEN_FROB",
        "RIVEN_LEASE_TTL",
        "RIVEN_PORT",
    ]


def test_settings_that_need_or_contradict_each_other_are_refused() -> None:
    assert "RIVEN_OIDC_AUDIENCE: it is missing" in refused(OIDC_ISSUER="https://login.example")[0]
    assert "RIVEN_OIDC_ISSUER: it is missing" in refused(OIDC_AUDIENCE="riven")[0]
    assert "RIVEN_RETRY_MAX_INTERVAL: " in refused(RETRY_INITIAL_INTERVAL="1m")[0]


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("TEMPORAL_ADDRESS", "temporal.example:7233", "temporal.example:7233"),
        ("TEMPORAL_ADDRESS", "[::1]:7233", "[::1]:7233"),
        ("TEMPORAL_NAMESPACE", "orders.a1b2c", "orders.a1b2c"),
        ("TEMPORAL_TASK_QUEUE", "riven-eu", "riven-eu"),
        ("TEMPORAL_TLS", "true", True),
        ("TEMPORAL_TLS_CA_FILE", __file__, __file__),
        ("TEMPORAL_TLS_SERVER_NAME", "temporal.example", "temporal.example"),
        ("TEMPORAL_API_KEY", "k", "k"),
        ("TEMPORAL_CACHED_RUNS", "10", 10),
        ("TEMPORAL_STICKY_TIMEOUT", "500ms", 0.5),
    ],
)
def test_settings_of_temporal_are_read_with_its_engine_and_refused_without(
    name: str, text: str, value: object
) -> None:
    environment = {f"RIVEN_{name}": text}
    assert getattr(Settings.read({**environment, "RIVEN_ENGINE": "temporal"}), name.lower()) == value
    (problem,) = refused(**{name: text})
    assert problem == f"RIVEN_{name}: it has no effect with the embedded engine; unset it"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("TEMPORAL_ADDRESS", "temporal.example", "write host:port"),
        ("TEMPORAL_ADDRESS", "http://temporal.example:7233", "write host:port"),
        ("TEMPORAL_ADDRESS", "temporal.example:port", "write host:port"),
        ("TEMPORAL_ADDRESS", "temporal.example:0", "write host:port"),
        ("TEMPORAL_ADDRESS", ":7233", "write host:port"),
        ("TEMPORAL_NAMESPACE", "x" * 256, "is no name"),
        ("TEMPORAL_TLS", "perhaps", "neither true nor false"),
        ("TEMPORAL_TLS_CA_FILE", "gone.pem", "'gone.pem' cannot be read: No such file or directory"),
        ("TEMPORAL_CACHED_RUNS", "0", "between 1 and 100000"),
        ("TEMPORAL_STICKY_TIMEOUT", "0", "is not between 100ms and 1h"),
    ],
)
def test_wrong_settings_of_temporal_are_refused(name: str, text: str, said: str) -> None:
    (problem,) = refused(ENGINE="temporal", **{name: text})
    assert problem.startswith(f"RIVEN_{name}: ")
    assert said in problem


def test_settings_of_temporal_that_need_or_contradict_each_other_are_refused() -> None:
    assert (
        "RIVEN_TEMPORAL_TLS_KEY_FILE: it is missing"
        in refused(ENGINE="temporal", TEMPORAL_TLS_CERT_FILE=__file__)[0]
    )
    assert (
        "RIVEN_TEMPORAL_TLS_CERT_FILE: it is missing"
        in refused(ENGINE="temporal", TEMPORAL_TLS_KEY_FILE=__file__)[0]
    )
    (problem,) = refused(ENGINE="temporal", TEMPORAL_TLS="false", TEMPORAL_TLS_CA_FILE=__file__)
    assert problem.startswith("RIVEN_TEMPORAL_TLS_CA_FILE: it has no effect")


def test_what_the_command_line_has_decided_comes_before_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RIVEN_ENGINE", "embedded")
    monkeypatch.setenv("RIVEN_TEMPORAL_TASK_QUEUE", "q")
    assert Settings.from_environment(RIVEN_ENGINE="temporal").temporal_task_queue == "q"
    with pytest.raises(SettingsError):
        Settings.from_environment()


def test_a_process_that_needs_temporal_says_which_variable_is_missing() -> None:
    with pytest.raises(SettingsError, match="RIVEN_TEMPORAL_ADDRESS: it is missing; write host:port"):
        Settings(engine="temporal").temporal()


def test_variables_of_the_clients_are_left_alone() -> None:
    assert Settings.read(dict.fromkeys(CLIENT_VARIABLES, "x")) == Settings()


def test_a_process_that_needs_a_database_says_which_variable_is_missing() -> None:
    with pytest.raises(SettingsError, match="RIVEN_DATABASE_URL: it is missing; write the address"):
        Settings().database()


def test_every_setting_is_explained_and_has_a_default_that_is_read_back() -> None:
    for each in fields(Settings):
        assert each.metadata["about"].endswith((".", ")."))
        if shown := each.metadata["default"]:
            engine = {"RIVEN_ENGINE": "temporal"} if each.name.startswith("temporal_") else {}
            assert getattr(Settings.read({**engine, variable(each.name): shown}), each.name) == each.default
        else:
            assert each.default in {None, ()}


def test_every_setting_is_used_where_processes_are_put_together() -> None:
    """One that is accepted and has no effect is worse than none."""
    source = "\n".join(path.read_text("utf-8") for path in (SOURCE / "main").glob("*.py"))
    unused = [
        each.name
        for each in fields(Settings)
        if each.name not in {"database_url", "temporal_address"}
        and not re.search(rf"settings\.{each.name}\b", source)
    ]
    assert unused == []
    assert "settings.database()" in source
    assert "settings.temporal()" in source
