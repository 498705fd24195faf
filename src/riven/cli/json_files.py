"""A JSON value from a file or from standard input; YAML where the name says so."""

from riven.cli.arguments import CallError, parse_json
from riven.cli.files import STDIN, read_bytes, read_source
from riven.cli.lettering import printable
from riven.documents.parse import parse
from riven.wire.document import Json


def read_json(name: str) -> Json:
    """Raises CallError."""
    data = read_source(name).data if name == STDIN else read_bytes(name)
    if name.lower().endswith((".yaml", ".yml")):
        return _read_yaml(name, data)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CallError(f"{printable(name)} is no UTF-8 text: byte {error.start + 1}", path="input") from None
    return parse_json(text, printable(name), path="input")


def _read_yaml(name: str, data: bytes) -> Json:
    parsed = parse(data)
    if parsed.tree is None or parsed.flaws:
        flaw = parsed.flaws[0]
        line, column = parsed.lines.at(flaw.offset)
        message = f"{printable(name)}: line {line}, column {column}: {flaw.message}"
        raise CallError(message, path="input", code="invalid_input")
    return parsed.tree.value
