"""Links that leave docs/: the site takes along the files of the repository that its pages point to.

A page links as it would on a code host: `../results/…json`, `../CONTRIBUTING.md`. Here such a file
becomes part of the site under its own path, and links are written anew from place to place.
"""

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"(?<=\]\()(?!\w+:|#|/)([^)\s#]+)")


def targets(text: str, place: Path) -> list[Path]:
    """The files outside docs/ that a Markdown text at `place` links to."""
    found = {(place.parent / link).resolve() for link in LINK.findall(text)}
    return sorted(path for path in found if path.is_file() and not path.is_relative_to(DOCS))


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
    place, here = Path(page.file.abs_src_path), Path(page.file.src_uri).parent

    def on_the_site(link: re.Match[str]) -> str:
        path = (place.parent / link[1]).resolve()
        if not path.is_relative_to(ROOT):
            return link[1]
        uri = path.relative_to(DOCS if path.is_relative_to(DOCS) else ROOT)
        return Path(os.path.relpath(uri, here)).as_posix()

    return LINK.sub(on_the_site, markdown)
