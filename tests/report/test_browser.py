"""Reports in a real browser: nothing is loaded, nothing runs, and everything can be read."""

import re

import numpy as np
import pytest

from dpfit import PrivateAdditiveRegression, PrivateLinearRegression

from . import browser, models

pytestmark = pytest.mark.skipif(
    browser.find() is None, reason="no Chromium or Chrome (apt-get install chromium)"
)
WIDTHS = (400, 800, 920, 1400)
NARROWEST_BAR = """Math.min(...[...document.querySelectorAll(".terms td.wide svg")].map(
    (bar) => bar.getBoundingClientRect().width), innerWidth)"""

# Elements whose right end is outside the window, or whose content is wider than they are.
OVERFLOWING = """
[...document.querySelectorAll("body *")].filter(e => {
  const box = e.getBoundingClientRect();
  return box.width > 0 && (box.right > innerWidth + 1 || box.left < -1);
}).map(e => e.outerHTML.slice(0, 120))
"""
# The smallest size of text, in pixels on the screen, and texts with too little contrast.
SMALLEST = """
Math.min(...[...document.querySelectorAll("body *")].filter(
  e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) && e.getClientRects().length
).map(e => {
  const size = parseFloat(getComputedStyle(e).fontSize);
  const matrix = e.getScreenCTM ? e.getScreenCTM() : null;
  return matrix ? size * Math.hypot(matrix.a, matrix.b) : size;
}))
"""
FAINT = """
(() => {
  const light = text => {
    const parts = text.match(/[\\d.]+/g).map(Number).slice(0, 3).map(v => v / 255);
    const [r, g, b] = parts.map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = e => {
    for (; e; e = e.parentElement) {
      const colour = getComputedStyle(e).backgroundColor;
      if (colour !== "rgba(0, 0, 0, 0)" && colour !== "transparent") return colour;
    }
    return "rgb(255, 255, 255)";
  };
  return [...document.querySelectorAll("body *")].filter(
    e => [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())
  ).filter(e => {
    const style = getComputedStyle(e);
    const ink = light(e instanceof SVGElement ? style.fill : style.color);
    const paper = light(behind(e));
    return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05) < 4.5;
  }).map(e => e.outerHTML.slice(0, 120));
})()
"""


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with browser.Browser(tmp_path_factory.mktemp("profile")) as found:
        yield found


@pytest.fixture(scope="module", params=["linear", "additive"])
def report(request, tmp_path_factory):
    """A report with hostile names, a ledger and an evaluation."""
    folder = tmp_path_factory.mktemp("report")
    model = getattr(models, request.param)(models.ledger(folder))
    rows = models.table(9000)
    evaluation = model.evaluate(
        rows, "<i>target</i>", epsilon=2.0, unit="<u>person</u>", max_rows=2
    )
    path = folder / "report.html"
    model.report(path, evaluation=evaluation)
    return path


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_a_report_is_quiet_and_readable(chromium, report, width, dark):
    page = chromium.page(report, width=width, dark=dark)
    assert page.requests == [report.as_uri()]
    assert page.complaints == []
    assert page.evaluate("window.pwned") is None
    assert page.evaluate("document.images.length + document.scripts.length") == 0
    assert page.evaluate("innerWidth") == width
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.evaluate(OVERFLOWING) == []
    assert page.evaluate(SMALLEST) >= 9.5
    if width == WIDTHS[0]:
        # Each bar has a line of its own.
        assert page.evaluate(NARROWEST_BAR) > width / 2
    assert page.evaluate(FAINT) == []
    background = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    assert background == ("rgb(20, 24, 29)" if dark else "rgb(255, 255, 255)")
    assert page.screenshot().startswith(b"\x89PNG")


def test_a_dark_screen_prints_dark_on_light(chromium, report):
    page = chromium.page(report, dark=True)
    page.call("Emulation.setEmulatedMedia", media="print")
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == (
        "rgb(255, 255, 255)"
    )
    # The lines to sign are for paper, links and JSON for the screen.
    shown = "getComputedStyle(document.querySelector('{}')).display"
    assert page.evaluate(shown.format(".sign")) == "grid"
    assert page.evaluate(shown.format("nav")) == "none"
    assert page.evaluate(shown.format("details")) == "none"


def test_a_report_prints_on_a4(chromium, report):
    page = chromium.page(report)
    content = page.pdf()
    assert content.startswith(b"%PDF")
    sizes = {
        tuple(map(float, box)) for box in re.findall(rb"/MediaBox \[0 0 (\S+) (\S+)\]", content)
    }
    # 210 mm by 297 mm, which are rounded to pixels.
    assert [[round(side / 72 * 25.4) for side in size] for size in sizes] == [[210, 297]]
    page.call("Emulation.setEmulatedMedia", media="print")
    # What is left of 210 mm between the margins, at 96 pixels per inch.
    page.call(
        "Emulation.setDeviceMetricsOverride",
        width=round(182 / 25.4 * 96),
        height=1000,
        deviceScaleFactor=1,
        mobile=False,
    )
    assert page.evaluate(OVERFLOWING) == []


def test_the_policy_stops_what_escaping_would_miss(chromium, tmp_path):
    """If a tag got through, the browser would still neither run nor load anything."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(3000, 2))
    text = PrivateLinearRegression(epsilon=5.0).fit(X, X[:, 0]).report_html()
    bad = "<script>window.pwned = 1</script><img src='https://example.com/x.png'>"
    path = tmp_path / "bad.html"
    path.write_text(text.replace("<main>", f"<main>{bad}"), "utf-8")
    page = chromium.page(path)
    assert page.evaluate("window.pwned") is None
    assert page.complaints != []
    loaded = page.evaluate("document.images[0].complete && document.images[0].naturalWidth")
    assert loaded == 0


@pytest.mark.parametrize("columns", [1, 70])
def test_reports_of_any_size(chromium, tmp_path, columns):
    rng = np.random.default_rng(columns)
    X = rng.uniform(-1e9, 1e9, size=(5000, columns))
    model = PrivateAdditiveRegression(epsilon=5.0).fit(X, 1e-6 * X[:, 0])
    model.report(tmp_path / "report.html")
    page = chromium.page(tmp_path / "report.html", width=400)
    assert page.complaints == []
    assert page.evaluate(OVERFLOWING) == []
