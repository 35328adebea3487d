"""Hooks of the documentation site (mkdocs.yml): files of the repository that are not in docs/.

A page may link to any file of the repository by its relative path, so that links work on a forge as
well. Here, links to files outside of docs/ become links to the pages that the site makes of them,
or to the repository.
"""

from __future__ import annotations

import os
import pathlib
import re
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from notebooks import PROJECTS, to_notebook

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Files at the top of the repository that are pages of the site.
PAGES = {
    "CHANGELOG.md": "reference/changelog.md",
    "CONTRIBUTING.md": "explanation/contributing.md",
    "SECURITY.md": "explanation/security.md",
}
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)#\s]+)(?=[)#])")
_FENCED = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages from the top of the repository, and the projects as notebooks."""
    for name, page in PAGES.items():
        text = (ROOT / name).read_text("utf-8")
        files.append(File.generated(config, page, content=relinked(text, name, page, config)))
    for source in sorted(PROJECTS.glob("*.py")):
        name = f"projects/{source.stem}.ipynb"
        files.append(File.generated(config, name, content=to_notebook(source.read_text("utf-8"))))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Redirect links to files outside of docs/."""
    if page.file.src_uri in PAGES.values():
        return markdown
    return relinked(markdown, f"docs/{page.file.src_uri}", page.file.src_uri, config)


def relinked(markdown: str, source: str, page: str, config: Any) -> str:
    """Return Markdown with the links of a file of the repository, for a page of the site."""

    def link(match: re.Match[str]) -> str:
        target = os.path.normpath(os.path.join(os.path.dirname(source), match[1]))
        if target.startswith("docs/"):
            inside = target.removeprefix("docs/")
        elif target in PAGES:
            inside = PAGES[target]
        elif (ROOT / target).exists():
            return f"{config['repo_url']}/blob/main/{target}"
        else:
            raise PluginError(f"{source} links to {match[1]}, which does not exist")
        return os.path.relpath(inside, os.path.dirname(page))

    # Code is not a place for links: `names[0](x)`.
    parts = _FENCED.split(markdown)
    return "".join(part if part.startswith("```") else _LINK.sub(link, part) for part in parts)
