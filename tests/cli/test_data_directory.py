"""Where data lies by default, and what is read of a `riven dev` there."""

import json
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from riven.cli.arguments import CallError
from riven.cli.data_directory import DevServer, data_directory_option, default_directory, read_dev_json

SAID = {"url": "http://127.0.0.1:8642", "apiKey": "rvn_x", "workspaceId": "w", "more": 1}


def default(**environment: str) -> str:
    @click.command()
    @data_directory_option("...")
    def command(data_dir: Path | None) -> None:
        click.echo(str(data_dir or default_directory()))

    return CliRunner().invoke(command, env=environment).stdout.strip()


def test_it_is_the_user_s_data_directory() -> None:
    home = "Library/Application Support" if sys.platform == "darwin" else ".local/share"
    assert default(HOME="/home/ada", XDG_DATA_HOME="") == f"/home/ada/{home}/riven"


def test_a_data_home_of_the_user_s_own_counts() -> None:
    assert default(HOME="/home/ada", XDG_DATA_HOME="/data") == "/data/riven"


def test_a_relative_data_home_counts_for_nothing() -> None:
    assert default(HOME="/home/ada", XDG_DATA_HOME="data").startswith("/home/ada/")


def test_a_server_is_read(tmp_path: Path) -> None:
    (tmp_path / "dev.json").write_text(json.dumps(SAID), encoding="utf-8")
    assert read_dev_json(tmp_path) == DevServer("http://127.0.0.1:8642", "rvn_x", "w")


def test_where_there_is_none_nothing_is_read(tmp_path: Path) -> None:
    assert read_dev_json(tmp_path) is None
    assert read_dev_json(tmp_path / "gone") is None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '{"url": 1}'])
def test_what_is_damaged_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "dev.json").write_text(text, encoding="utf-8")
    with pytest.raises(CallError, match="is damaged"):
        read_dev_json(tmp_path)


def test_what_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "dev.json").mkdir()
    with pytest.raises(CallError, match="cannot be read: Is a directory"):
        read_dev_json(tmp_path)
