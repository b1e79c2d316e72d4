"""Links of a built site: each relative one must lead to a file, and to a place in it."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = ("script", "link", "img", "iframe", "source", "video", "audio")


class PageLinks(HTMLParser):
    """What a page refers to, and the places in it that others can refer to.

    Attributes:
        targets: Addresses of links (list of str), and of what the page loads.
        loaded: Addresses (list of str) of what the browser loads with the page.
        places: Names (set of str) that a `#` can lead to.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = {"", "top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Keep the addresses and the name of an element."""
        values = {name: value for name, value in attrs if value}
        self.places |= {values[name] for name in ("id", "name") if name in values}
        address = values.get("href", values.get("src"))
        if address is None:
            return
        self.targets.append(address)
        if tag in LOADED:
            self.loaded.append(address)


def dead_links(site: Path) -> Iterator[str]:
    """Each link that leads nowhere, as ``page: link``; and each file from the network."""
    pages = {path: PageLinks(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}
    for path, page in sorted(pages.items()):
        name = path.relative_to(site)
        for address in page.targets:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.is_file():
                yield f"{name}: {address} leads nowhere"
            elif target in pages and unquote(parts.fragment) not in pages[target].places:
                yield f"{name}: {address} has no such place"
        for address in page.loaded:
            if urlsplit(address).netloc:
                yield f"{name}: {address} is loaded from the network"
