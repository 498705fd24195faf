"""The workloads as documents of riven: every node is a `python` node, not pure, and hands a value on."""

from typing import Any

from bench.shapes import layered


def document(kind: str, **options: int) -> dict[str, Any]:
    return _DOCUMENTS[kind](**options)


def name_of(kind: str, **options: int) -> str:
    return "-".join([kind, *(str(value) for value in options.values())])


def _echo(**arguments: object) -> dict[str, Any]:
    return {"type": "python", "with": {"function": "riven.echo", "args": arguments}}


def noop1() -> dict[str, Any]:
    return {"name": "noop1", "nodes": {"n": _echo(x=1)}, "output": "{{ steps.n.output }}"}


def chain10() -> dict[str, Any]:
    nodes = {"n0": _echo(x=1)}
    for place in range(1, 10):
        nodes[f"n{place}"] = _echo(x=f"{{{{ steps.n{place - 1}.output.x + 1 }}}}") | {
            "needs": [f"n{place - 1}"]
        }
    return {"name": "chain10", "nodes": nodes, "output": "{{ steps.n9.output }}"}


def fan50() -> dict[str, Any]:
    fan = [f"f{place}" for place in range(50)]
    nodes = {"root": _echo(x=0)}
    for place, key in enumerate(fan):
        nodes[key] = _echo(x=f"{{{{ steps.root.output.x + {place} }}}}") | {"needs": ["root"]}
    nodes["join"] = _echo(x=f"{{{{ {_sum([f'steps.{key}.output.x' for key in fan])} }}}}") | {"needs": fan}
    return {"name": "fan50", "nodes": nodes, "output": "{{ steps.join.output }}"}


def sleepfan() -> dict[str, Any]:
    nodes = {
        f"s{place}": {"type": "python", "with": {"function": "riven.sleep", "args": {"seconds": 0.1}}}
        for place in range(20)
    }
    return {"name": "sleepfan", "nodes": nodes}


def bigdag(layers: int, width: int) -> dict[str, Any]:
    nodes = {}
    for layer, places in enumerate(layered(layers, width)):
        for place, parents in enumerate(places):
            above = [f"n{layer - 1}_{parent}" for parent in parents]
            values = [f"{{{{ steps.{key}.output.i }}}}" for key in above]
            nodes[f"n{layer}_{place}"] = _echo(l=layer, i=place, above=values) | (
                {"needs": above} if above else {}
            )
    last = f"n{layers - 1}_{width - 1}"
    return {
        "name": name_of("bigdag", layers=layers, width=width),
        "nodes": nodes,
        "output": f"{{{{ steps.{last}.output }}}}",
    }


def _sum(terms: list[str]) -> str:
    """In brackets: of operations that follow each other without, an expression may have some thirty."""
    if len(terms) == 1:
        return terms[0]
    middle = len(terms) // 2
    return f"({_sum(terms[:middle])} + {_sum(terms[middle:])})"


_DOCUMENTS = {"noop1": noop1, "chain10": chain10, "fan50": fan50, "sleepfan": sleepfan, "bigdag": bigdag}
