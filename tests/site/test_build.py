"""The site builds without warnings, and its pages load nothing from other servers."""

import html.parser
import importlib.util
import os
import re
import subprocess
import sys

import pytest

from . import pages

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("mkdocs") is None, reason="needs the dependency group `docs`"
)
# Attributes that make a browser load something when it shows a page, by tag.
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
# Links of these kinds are for people and search engines.
NOT_LOADED = {"canonical", "next", "prev", "edit"}


class Loaded(html.parser.HTMLParser):
    """Collects what a page loads."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag in LOADED and values.get("rel") not in NOT_LOADED:
            self.found.append(values.get(LOADED[tag]) or "")


def build(root, folder):
    """Build a site as `make docs` does: warnings about links, anchors and pages are errors."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=root,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=600,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    done = build(pages.ROOT, folder)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def test_a_broken_link_stops_the_build(tmp_path):
    settings = (pages.ROOT / "mkdocs.yml").read_text("utf-8")
    (validation,) = re.findall(r"^validation:\n(?:  .*\n)+", settings, re.MULTILINE)
    (tmp_path / "docs").mkdir()
    (tmp_path / "mkdocs.yml").write_text(f"site_name: x\n{validation}", "utf-8")
    index = tmp_path / "docs" / "index.md"
    index.write_text("# A\n\n[here](#a)\n", "utf-8")
    done = build(tmp_path, tmp_path / "site")
    assert done.returncode == 0, done.stderr
    for link in ("other.md", "#b"):
        index.write_text(f"# A\n\n[there]({link})\n", "utf-8")
        assert build(tmp_path, tmp_path / "site").returncode == 1, link
    makefile = (pages.ROOT / "Makefile").read_text("utf-8")
    assert re.search(r"mkdocs build --strict$", makefile, re.MULTILINE)


def test_pages_load_nothing_from_other_servers(site):
    # The page for wrong addresses has absolute links, as it does not know where it is.
    found = sorted(path for path in site.rglob("*.html") if path.name != "404.html")
    assert len(found) > 40
    for path in found:
        page, text = Loaded(), path.read_text("utf-8")
        page.feed(text)
        # The theme asks GitHub about the repository if it finds this.
        assert 'data-md-component="source"' not in text
        assert page.found
        for target in page.found:
            assert not re.match(r"(?:[a-z]+:)?//", target), f"{path.name} loads {target}"
            file = path.parent / target.partition("?")[0].partition("#")[0]
            assert target.startswith("data:") or file.exists(), f"{path.name}: no {target}"
    for path in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import)\s*[\"']?(?:https?:)?//", path.read_text("utf-8"))


def test_projects_can_be_downloaded_as_notebooks(site):
    assert {path.stem for path in site.rglob("*.ipynb")} == {"hospital", "parquet", "wages"}


def test_the_api_pages_contain_every_public_name(site):
    import dpfit
    import dpfit.accounting
    import dpfit.audit
    import dpfit.theory

    text = "".join(path.read_text("utf-8") for path in (site / "reference" / "api").glob("*.html"))
    anchors = set(re.findall(r'id="(dpfit\.[\w.]+)"', text))
    names = {f"dpfit.{name}" for name in dpfit.__all__ if name != "__version__"}
    names |= {f"dpfit.audit.{name}" for name in dpfit.audit.__all__}
    names |= {f"dpfit.theory.{name}" for name in dpfit.theory.__all__}
    short = {anchor.rpartition(".")[2] for anchor in anchors}
    assert {name.rpartition(".")[2] for name in names} <= short
    assert not re.search(r":(?:func|class|meth|mod|attr):", text)


def test_links_of_the_readme_lead_somewhere():
    for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"):
        for link in re.findall(r"\]\((?!https?://|#)([^)#\s]+)", pages.text(name)):
            assert (pages.ROOT / link).exists(), f"{name} links to {link}"


def test_lines_of_pages_are_short():
    for name in pages.names():
        prose = re.sub(r"^(```.*?^```|\|[^\n]*)$", "", pages.text(name), flags=re.M | re.S)
        # Not those of a link that cannot be broken.
        long = [line for line in prose.splitlines() if len(line) > 120 and " " in line.strip()]
        assert not long, f"{name}: {long}"


def test_pages_of_docs_are_mentioned_in_code_by_their_paths():
    for folder in ("python", "rust", "benches", "tests", "tools"):
        for path in (pages.ROOT / folder).rglob("*"):
            if path.suffix in (".py", ".rs", ".md", ".pyi"):
                for page in re.findall(r"\bdocs/[\w/]+\.md", path.read_text("utf-8")):
                    assert (pages.ROOT / page).exists(), f"{path.name} mentions {page}"
