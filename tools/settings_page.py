"""The reference of settings, made from the one class that reads them."""

from dataclasses import fields

from riven.settings import Settings, variable

INTRODUCTION = """\
# Settings

Processes (`riven api`, `worker`, `maintenance`, `all`, `migrate`, and what `riven dev` starts) take their settings from
the environment. A value that cannot be used, a name that is not in this table and a setting that contradicts another
one are refused at the start, each in a line that says what to write. An empty value counts as absent. All processes of
an installation may share one set: each uses what concerns it.

A duration is `500ms`, `20s`, `10m`, `2h`, `3d`, ISO 8601 (`PT30S`) or a number of seconds.
"""

OTHERS = """\
## Read by commands that talk to a server

`RIVEN_URL` and `RIVEN_API_KEY` are the server and the key of `riven apply`, `start`, `executions`, `workspaces` and
`keys`, where `--url` and `--api-key` are not given; see the [command line](command-line.md). Processes leave them alone.

## Not part of this version

`RIVEN_SECRET_KEY` and `RIVEN_SECRET_KEY_FILE` are refused until what they are for is there: a setting that is accepted
has its effect.
"""

GROUPS = {
    "database_url": "Where everything is",
    "workflow_engine_enabled": "The queue",
    "worker_runs": "Workers",
    "temporal_address": "The Temporal engine",
    "retry_max_attempts": "What nodes inherit that say nothing themselves",
    "history_retention": "What is kept",
    "rate_limit": "Who may ask",
    "log_format": "What processes tell",
    "test_crash_at": "For tests",
}
"""By the first setting of each."""


def settings_page() -> str:
    lines = [INTRODUCTION]
    for setting in fields(Settings):
        if setting.name in GROUPS:
            lines += [f"## {GROUPS[setting.name]}\n", "| variable | default | |", "|---|---|---|"]
        default = setting.metadata["default"]
        shown = f"`{default}`" if default else "-"
        lines.append(f"| `{variable(setting.name)}` | {shown} | {setting.metadata['about']} |")
        if _ends_group(setting.name):
            lines.append("")
    lines.append(OTHERS)
    return "\n".join(lines)


def _ends_group(name: str) -> bool:
    names = [setting.name for setting in fields(Settings)]
    following = names[names.index(name) + 1 :]
    return not following or following[0] in GROUPS
