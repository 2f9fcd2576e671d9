"""Whether every link of the built site leads somewhere within it, and nothing is loaded from elsewhere.

Addresses elsewhere (https://...) are not looked at: the tests need no network.
"""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: Attributes that make a browser load something, by element. A link that is followed only by a click may lead elsewhere.
LOADED = {("img", "src"), ("script", "src"), ("iframe", "src"), ("source", "src"), ("link", "href"), ("object", "data")}


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        self.names.update(value for name in ("id", "name") if (value := values.get(name)))
        # Relations such as "canonical" are told, not loaded.
        told = tag == "link" and values.get("rel") in ("canonical", "search", "prev", "next")
        for name in ("href", "src", "data"):
            value = values.get(name)
            if value and (tag, name) in LOADED | {("a", "href")}:
                self.links.append((value, (tag, name) in LOADED and not told))


def problems_of(folder: Path) -> list[str]:
    """What is wrong with the links of the pages in a folder."""
    folder = folder.resolve()
    pages = {path: _read(path) for path in folder.rglob("*.html") if "_live" not in path.parts and "_static" not in path.parts}
    problems = []
    for path, page in pages.items():
        for link, loaded in page.links:
            problem = _problem(link, loaded, path, folder, pages)
            if problem:
                problems.append(f"{path.relative_to(folder)}: {link}: {problem}")
    return sorted(set(problems))


def _read(path: Path) -> _Page:
    page = _Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def _problem(link: str, loaded: bool, page: Path, folder: Path, pages: dict[Path, _Page]) -> str | None:
    parts = urlsplit(link)
    if parts.scheme in ("http", "https") or link.startswith("//"):
        return "is loaded from elsewhere" if loaded else None
    if parts.scheme:
        return None
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if not target.is_relative_to(folder):
        return "leads out of the site"
    if not target.exists():
        return "is not there"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].names:
        return "has no such place"
    return None
