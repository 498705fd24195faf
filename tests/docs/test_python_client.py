"""The program on the page of the Python client does what it says, against the product."""

import re
from pathlib import Path
from typing import Any

from tests.product import product

from riven.client.http import Client

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "reference" / "python-client.md").read_text(encoding="utf-8")
HOW_TO = (DOCS / "how-to" / "start-executions.md").read_text(encoding="utf-8")


async def test_the_program_on_the_page_starts_a_workflow_and_waits_for_it(database_url: str) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (document,) = re.findall(r"^```yaml\n(.*?)^```$", HOW_TO, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(program, names)
    async with product(database_url) as riven, Client(riven.url, riven.key) as client:
        said = await names["refund"](riven.url, riven.key, riven.workspace_id)
        assert said.startswith("refused: there is no workflow")
        await client.put_workflow(riven.workspace_id, "refund", document)
        await client.publish(riven.workspace_id, "refund")
        assert await names["refund"](riven.url, riven.key, riven.workspace_id) == "COMPLETED: 1 nodes"
