"""The product as outsiders test it who know nothing of it but its description: schemathesis, every check, every phase."""

import asyncio
import shlex
import sys
from pathlib import Path

import pytest
from tests.product import Product, product

_ROOT = Path(__file__).parents[2]
_DOCUMENT = """\
name: all
input: {type: object, properties: {count: {type: integer}}}
nodes:
  each:
    type: for_each
    with: {items: [1, 2]}
    body: {nodes: {a: {type: set, with: {value: "{{ item }}"}}}, output: "{{ steps.a.output }}"}
  wrong: {type: fail, with: {message: no luck}, needs: [each], continueOnError: true}
  ask: {type: approval, with: {title: go on?}, needs: [wrong]}
  paid: {type: signal, with: {name: paid}, needs: [ask]}
output: {items: "{{ steps.each.output }}"}
"""


async def schemathesis(url: str, key: str, config: Path, directory: Path, *more: str) -> None:
    """Every finding fails, with the report as it is printed."""
    call = [
        *(str(Path(sys.executable).with_name("schemathesis")), "--no-color", "--config-file", str(config)),
        *("run", f"{url}/openapi.json", "--header", f"Authorization: Bearer {key}", "--seed", "1"),
        *("--generation-database", "none", "--request-timeout", "30", *more),
    ]
    process = await asyncio.create_subprocess_exec(
        *call, cwd=directory, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, f"{shlex.join(call)}\n{said.decode()}"
    assert b"Test cases:" in said, said.decode()


async def known(riven: Product) -> dict[str, str]:
    """Ids of things that there are, so that what lies behind them is reached."""
    await riven.publish(_DOCUMENT)
    started = await riven.client.start(riven.workspace_id, "all")
    return {
        "path.workspaceId": riven.workspace_id,
        "query.workspaceId": riven.workspace_id,
        "path.executionId": started.execution_id,
        "path.queueId": started.queue_id,
        "path.path": "ask",
    }


@pytest.mark.timeout(600)
async def test_the_product_does_what_it_describes(database_url: str, tmp_path: Path) -> None:
    async with product(database_url) as riven:
        await schemathesis(
            riven.url, riven.key, _ROOT / "schemathesis.toml", tmp_path, "--max-examples", "15"
        )


@pytest.mark.timeout(600)
async def test_what_is_there_is_shown_and_steered_as_described(database_url: str, tmp_path: Path) -> None:
    async with product(database_url) as riven:
        given = "\n".join(f'"{name}" = "{value}"' for name, value in (await known(riven)).items())
        config = tmp_path / "known.toml"
        config.write_text(f"[parameters]\n{given}\n\n{(_ROOT / 'schemathesis.toml').read_text()}")
        more = ("--include-path-regex", "executionId|queueId|workflow/executions$", "--max-examples", "15")
        await schemathesis(riven.url, riven.key, config, tmp_path, *more)
