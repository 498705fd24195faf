"""Named SQL: every file `sql/NAME.sql` beside a package is one statement, begun by a comment that says why."""

from importlib.resources import files


def load(package: str, name: str) -> str:
    """The text of `sql/NAME.sql` in `package`."""
    return files(package).joinpath("sql", f"{name}.sql").read_text(encoding="utf-8")
