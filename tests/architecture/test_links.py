"""Every page's links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md", "bench/**/*.md", "tests/**/*.md")
    for page in ROOT.glob(pattern)
)
FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(
    r"!?\[[^\]]*\]\(([^)\s]+)[^)]*\)|^\[[^\]]+\]:\s*(\S+)|<img[^>]+src=\"([^\"]+)\"", re.MULTILINE
)
HEADING = re.compile(r"^#+\s+(.+?)\s*#*$", re.MULTILINE)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def links(text: str) -> list[str]:
    """Targets within the repository."""
    prose = INLINE_CODE.sub("``", FENCED.sub("", text))
    targets = [next(group for group in match if group) for match in LINK.findall(prose)]
    return [target for target in targets if not re.match(r"[a-z]+:", target)]


def anchors(text: str) -> set[str]:
    """The headings' anchors as GitHub makes them."""
    headings = HEADING.findall(FENCED.sub("", text))
    words = [re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings]
    return set(words)


def broken(page: Path) -> list[str]:
    missing = []
    for target in links(page.read_text(encoding="utf-8")):
        file, _, anchor = target.partition("#")
        place = (page.parent / file).resolve() if file else page
        known = place.exists() and place.is_relative_to(ROOT)
        if not known or (
            anchor and place.suffix == ".md" and anchor not in anchors(place.read_text(encoding="utf-8"))
        ):
            missing.append(target)
    return missing


def test_broken_links_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    (tmp_path / "there.md").write_text("# A heading, with `code`\n", encoding="utf-8")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](there.md) [b](there.md#a-heading-with-code) [c](gone.md) [d](there.md#gone) [e](https://example.org)\n"
        "```\n[f](in-code.md)\n```\n`[g](in-code.md)` ![h](gone.svg)\n[i]: gone.txt\n",
        encoding="utf-8",
    )
    assert broken(page) == ["gone.md", "there.md#gone", "gone.svg", "gone.txt"]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    assert broken(page) == []


def test_every_page_is_reached_from_the_first_page_of_the_documentation() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "docs" / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or page.suffix != ".md":
            continue
        reached.add(page)
        if page.name == "README.md":
            places = [link.partition("#")[0] for link in links(page.read_text(encoding="utf-8"))]
            waiting += [(page.parent / place).resolve() for place in places if place]
    assert [name_of(page) for page in sorted((ROOT / "docs").rglob("*.md")) if page not in reached] == []
