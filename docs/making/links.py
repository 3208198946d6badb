"""Links of pages that are written as a code host would show them.

Files outside docs/ that a page points to (`../results/…json`, `../CONTRIBUTING.md`) become part of
the site under their own path, and links are written anew from place to place. A public name in
backticks, `conftr.thr`, leads to its entry in the reference.
"""

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

import conftr

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
HOME = ROOT / "README.md"  # the front page on a code host, as index.md is here
LINK = re.compile(r"(?<=\]\()(?!\w+:|#|/)([^)\s#]+)")
NAME = re.compile(r"(?<!\[)`conftr\.(\w+)`")
FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def targets(text: str, place: Path) -> list[Path]:
    """The files outside docs/ that a Markdown text at `place` links to."""
    places = {(place.parent / link).resolve() for link in LINK.findall(text)} - {HOME}
    return sorted(path for path in places if path.is_file() and not path.is_relative_to(DOCS))


def on_files(files: Any, config: Any) -> Any:
    """Add what pages link to, and what those link to in turn."""
    pages = [Path(file.abs_src_path) for file in files.documentation_pages()]
    while pages:
        page = pages.pop()
        for path in targets(page.read_text(encoding="utf-8"), page):
            uri = path.relative_to(ROOT).as_posix()
            if uri not in files.src_uris:
                files.append(File.generated(config, uri, abs_src_path=str(path)))
                pages += [path] if path.suffix == ".md" else []
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Write each link from where the page lies on the site to where its target does."""
    here = Path(page.file.src_uri).parent
    place = Path(page.file.abs_src_path or DOCS / page.file.src_uri)

    def on_the_site(link: re.Match[str]) -> str:
        path = (place.parent / link[1]).resolve()
        path = DOCS / "index.md" if path == HOME else path
        if not path.is_relative_to(ROOT):
            return link[1]
        uri = path.relative_to(DOCS if path.is_relative_to(DOCS) else ROOT)
        return Path(os.path.relpath(uri, here)).as_posix()

    parts = FENCED.split(markdown)  # prose and fences in turn
    parts[::2] = [NAME.sub(_to_the_reference, LINK.sub(on_the_site, prose)) for prose in parts[::2]]
    return "".join(parts)


def _to_the_reference(name: re.Match[str]) -> str:
    return f"[{name[0]}][conftr.{name[1]}]" if name[1] in conftr.__all__ else name[0]
