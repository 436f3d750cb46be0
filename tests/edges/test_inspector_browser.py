"""The inspector in a real browser: search, compare, evidence, document, keyboard alone, phone width, hostile documents.

Screenshots of what was seen are kept under build/screenshots.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx2
import pytest
from http_room import settings, token
from inspector_room import EVIL, EVIL_ID
from mcp_room import running
from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from citewell import Knowledge
from citewell.identity import format_key as key
from citewell.server.http.app import create_app
from citewell.server.serve import _beside
from citewell.server.web.gate import HOME
from citewell.testing.fakes import HashEmbedder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.requirement("API-5"),
    pytest.mark.skipif(
        shutil.which("chromium") is None or shutil.which("chromedriver") is None,
        reason="Chromium and ChromeDriver are not installed (Debian: chromium, chromium-driver)",
    ),
]

SHOTS: Final = Path(__file__).resolve().parents[2] / "build" / "screenshots"
_FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--force-prefers-reduced-motion",
)  # fmt: skip
_TRAP = "window.booms = []; window.boom = (number) => window.booms.push(number); window.alert = window.boom;"
QUERY: Final = "why do captures fail with PAY-4460"
DOC: Final = "payments/capture-failures.md"

_CONTRAST = """
const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
function rgb(color) {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
}
function light([r, g, b]) {
  const part = (v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
}
function ground(element) {
  for (; element; element = element.parentElement) {
    const found = rgb(getComputedStyle(element).backgroundColor);
    if (found[3] === 255) return found;
  }
  return rgb(getComputedStyle(document.body).backgroundColor);
}
const poor = [];
for (const element of document.querySelectorAll('main *, header *, footer *')) {
  const said = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  if (!said || element.closest('svg') || !element.checkVisibility()) continue;
  const [a, b] = [light(rgb(getComputedStyle(element).color)), light(ground(element))];
  const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) poor.push(`${element.tagName}.${element.className}: ${ratio.toFixed(2)}`);
}
return [...new Set(poor)];
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The first page of a server over the example runbooks and a hostile document."""
    folder = tmp_path_factory.mktemp("runs")
    run = {"dataset": "d", "runs": [{"name": "a", "means": {"recall@1": 0.5, "recall@5": 0.8}}]}
    (folder / "run.json").write_text(json.dumps(run), "utf-8")
    chosen = settings(evaluations=str(folder))
    with (
        Knowledge.open("memory:", settings=chosen, embedder=HashEmbedder()) as knowledge,
        resources.as_file(resources.files("citewell.demo").joinpath("corpus")) as corpus,
    ):
        knowledge.ingest(corpus)
        knowledge.ingest_documents([EVIL])
        app = create_app(knowledge, beside=partial(_beside, version="1"), version="1")
        with running(app) as address:
            httpx2.post(f"{address}/v1/ingest", files={"files": ("wheels.md", b"# Wheels")}).raise_for_status()
            yield address + HOME


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for flag in (*_FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _TRAP})
    driver.set_page_load_timeout(60)
    try:
        yield driver
    finally:
        driver.quit()


@pytest.fixture
def browser(chromium: webdriver.Chrome) -> Iterator[webdriver.Chrome]:
    """As wide as a desk's, in light colours; afterwards nothing of any document has run, and nothing was refused."""
    look(chromium)
    chromium.delete_all_cookies()
    said(chromium)
    yield chromium
    assert chromium.execute_script("return window.booms") == []
    harmless = ("network", "recommendation")  # statuses that tests ask for, advice on forms
    assert [entry for entry in said(chromium) if entry["source"] not in harmless] == []


def said(browser: webdriver.Chrome) -> list[dict[str, Any]]:
    """What its console has said since it was last asked."""
    log: list[dict[str, Any]] = browser.get_log("browser")  # type: ignore[no-untyped-call]  # Selenium's own
    return log


def look(browser: webdriver.Chrome, width: int = 1280, height: int = 1600, *, dark: bool = False) -> None:
    metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})


def shot(browser: webdriver.Chrome, name: str) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    assert browser.save_screenshot(str(SHOTS / f"{name}.png"))


def one(browser: webdriver.Chrome, css: str) -> Any:  # noqa: ANN401 - an element
    return WebDriverWait(browser, 30).until(lambda at: at.find_element(By.CSS_SELECTOR, css))


def texts(browser: webdriver.Chrome, css: str) -> list[str]:
    return [element.text for element in browser.find_elements(By.CSS_SELECTOR, css)]


def ask(browser: webdriver.Chrome, server: str, query: str = QUERY, mode: str = "hybrid") -> None:
    browser.get(server)
    one(browser, f'.modes label:has(input[value="{mode}"])').click()
    one(browser, "#q").send_keys(query + Keys.ENTER)
    one(browser, ".items, .candidates")


def here(browser: webdriver.Chrome) -> str:
    return str(browser.execute_script("return decodeURIComponent(location.pathname + location.search)"))


def test_a_search_draws_rankings_lines_and_what_the_agent_saw(browser: webdriver.Chrome, server: str) -> None:
    ask(browser, server)
    assert "mode=hybrid" in here(browser)
    assert "category=" not in here(browser)  # empty fields are left out of the address
    assert [text.split("+")[0].strip() for text in texts(browser, "svg.ranking text.column")] == [
        "dense",
        "fused order",
        "lexical",
    ]
    assert len(browser.find_elements(By.CSS_SELECTOR, "svg.ranking path.line")) > 5
    assert any(text.startswith(DOC) for text in texts(browser, ".items .key"))
    assert len(texts(browser, ".items > .item")) == 5
    assert browser.find_elements(By.CSS_SELECTOR, ".group summary")
    assert browser.execute_script(_CONTRAST) == []
    shot(browser, "search-light")
    look(browser, dark=True)
    assert browser.execute_script(_CONTRAST) == []
    shot(browser, "search-dark")


def test_filters_and_widths_narrow_the_search(browser: webdriver.Chrome, server: str) -> None:
    browser.get(server)
    one(browser, ".more summary").click()
    one(browser, 'input[name="category"]').send_keys("payments")
    one(browser, 'input[name="return_n"]').send_keys("2")
    one(browser, "#q").send_keys(QUERY + Keys.ENTER)
    one(browser, ".items")
    assert "category=payments" in here(browser)
    assert len(texts(browser, ".items > .item")) == 2
    assert any(text.startswith("dense, category") for text in texts(browser, "svg.ranking text.column"))


def test_dense_and_hybrid_are_compared(browser: webdriver.Chrome, server: str) -> None:
    ask(browser, server, mode="compare")
    assert texts(browser, ".halves h2") == ["Dense", "Hybrid"]
    assert texts(browser, ".small text.column") == ["dense", "hybrid"]
    assert all(
        len(half.find_elements(By.CSS_SELECTOR, ".item")) == 5
        for half in browser.find_elements(By.CSS_SELECTOR, ".halves > section")
    )
    assert browser.execute_script(_CONTRAST) == []
    shot(browser, "compare-light")
    one(browser, ".halves .legend").click()
    one(browser, "svg.ranking")
    assert "mode=dense" in here(browser)


def test_evidence_is_opened_and_followed_to_its_document_with_the_chunk_marked(
    browser: webdriver.Chrome, server: str
) -> None:
    ask(browser, server)
    wanted = next(link for link in browser.find_elements(By.CSS_SELECTOR, ".items .key") if link.text.startswith(DOC))
    name = wanted.text
    wanted.click()
    assert one(browser, "h1.key").text == name
    marked = one(browser, ".chunk.marked .passage").text
    assert browser.execute_script(_CONTRAST) == []
    shot(browser, "evidence-light")
    one(browser, "#to-document").click()
    one(browser, ".reading")
    assert here(browser).startswith(f"{HOME}/document?id={DOC}")
    assert one(browser, ".chunk.marked .passage").text == marked
    top = browser.execute_script("return document.querySelector('.marked').getBoundingClientRect().top")
    assert 0 <= top < 1600
    shot(browser, "document-light")


def test_a_place_in_one_ranking_lights_the_same_chunk_in_the_others(browser: webdriver.Chrome, server: str) -> None:
    ask(browser, server)
    node = one(browser, "svg.ranking a.node.path-fused")
    browser.execute_script("arguments[0].focus()", node)
    lit = browser.find_elements(By.CSS_SELECTOR, "svg.ranking a.node.lit")
    assert len(lit) >= 2
    assert len({each.get_attribute("data-key") for each in lit}) == 1
    assert browser.find_elements(By.CSS_SELECTOR, "path.line.lit")


def focused(browser: webdriver.Chrome) -> Any:  # noqa: ANN401 - an element
    return browser.switch_to.active_element


def press(browser: webdriver.Chrome, *keys: str) -> None:
    for each in keys:
        focused(browser).send_keys(each)


def test_everything_can_be_done_by_keyboard_alone(browser: webdriver.Chrome, server: str) -> None:
    browser.get(server)
    assert focused(browser).get_attribute("id") == "q"
    press(
        browser, QUERY + Keys.TAB, Keys.ARROW_LEFT if one(browser, 'input[value="dense"]').is_selected() else Keys.HOME
    )
    press(browser, Keys.ENTER)
    one(browser, ".items")
    press(browser, Keys.ESCAPE, "j")
    first = focused(browser)
    assert first.get_attribute("data-key") == one(browser, ".items .key").get_attribute("data-key")
    outline = browser.execute_script("return getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"  # who uses the keyboard sees where it is
    press(browser, "j", "k")
    assert focused(browser).get_attribute("data-key") == first.get_attribute("data-key")
    name = first.text
    press(browser, Keys.ENTER)
    assert one(browser, "h1.key").text == name
    for _ in range(40):
        press(browser, Keys.TAB)
        if focused(browser).get_attribute("id") == "to-document":
            break
    press(browser, Keys.ENTER)
    assert one(browser, ".reading .chunk.marked")
    browser.back()
    browser.back()
    one(browser, ".items")
    press(browser, Keys.ESCAPE, "/")
    assert focused(browser).get_attribute("id") == "q"
    press(browser, "c/j")  # letters are letters while one types
    assert focused(browser).get_attribute("value").endswith("c/j")
    press(browser, Keys.ESCAPE, "c")
    one(browser, ".halves")
    assert "q=c/j&" in here(browser)  # the query was selected, and what was typed took its place


PAGES: Final = {
    "search": f"?q={quote(QUERY)}&mode=hybrid&category=payments",
    "compare": f"?q={quote(QUERY)}&mode=compare",
    "nothing": f"?q={quote(QUERY)}&mode=dense&min_similarity=0.99",
    "refused": f"?q={quote(QUERY)}&return_n=0",
    "evidence": f"/evidence?key={quote(key(DOC, 3), safe='')}",
    "document": f"/document?id={quote(DOC, safe='')}&chunk=3",
    "corpus": "/corpus",
    "ingestions": "/jobs",
    "evaluation": "/evaluation?name=run.json",
    "error": "/document?id=none",
}


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_a_phone_and_is_legible_in_the_dark(browser: webdriver.Chrome, server: str, name: str) -> None:
    look(browser, 360, 740)
    browser.get(server + PAGES[name])
    one(browser, "main")
    widest = browser.execute_script("return document.documentElement.scrollWidth")
    assert widest == 360
    shot(browser, f"{name}-phone")
    look(browser, dark=True)
    assert browser.execute_script(_CONTRAST) == []
    shot(browser, f"{name}-dark")


def test_the_field_of_a_value_that_cannot_be_used_is_marked(browser: webdriver.Chrome, server: str) -> None:
    browser.get(server + PAGES["refused"])
    one(browser, ".notice.bad")
    marked = browser.find_elements(By.CSS_SELECTOR, "[aria-invalid]")
    assert [field.get_attribute("name") for field in marked] == ["return_n"]


def test_a_runs_means_and_its_curve_have_one_colour(browser: webdriver.Chrome, server: str) -> None:
    browser.get(server + PAGES["evaluation"])
    one(browser, ".series path")
    colours = browser.execute_script(
        "return [getComputedStyle(document.querySelector('.series path')).stroke,"
        " ...[...document.querySelectorAll('.candidates .bar .fill')].map((bar) => getComputedStyle(bar).fill)]"
    )
    assert len(colours) == 3
    assert len(set(colours)) == 1


def test_a_hostile_document_reads_as_text_and_runs_nothing(browser: webdriver.Chrome, server: str) -> None:
    evil = quote(EVIL_ID, safe="")
    paths = ["?q=zanzibar&mode=hybrid", "?q=zanzibar&mode=compare", f"/document?id={evil}", "/corpus",
             f"/evidence?key={quote(key(EVIL_ID, 0), safe='')}", f"?q={evil}&category={evil}&scope={evil}"]  # fmt: skip
    for path in paths:
        browser.get(server + path)
        one(browser, "main")
        for element in browser.find_elements(By.CSS_SELECTOR, "main details > summary"):
            element.click()
        assert browser.execute_script("return window.booms") == []
        assert (
            browser.execute_script("return document.querySelectorAll('main script, main iframe, main img').length") == 0
        )
        origins = browser.execute_script(
            "return performance.getEntriesByType('resource').map((e) => new URL(e.name).origin)"
        )
        assert set(origins) <= {server.removesuffix(HOME)}
    browser.get(server + f"/document?id={evil}")
    assert "<script>boom(3)</script> zanzibar <svg onload=boom(4)>" in one(browser, ".passage").text
    shot(browser, "hostile-light")


def test_the_theme_can_be_chosen_and_stays(browser: webdriver.Chrome, server: str) -> None:
    ground = "return getComputedStyle(document.body).backgroundColor"
    browser.get(server)
    light = browser.execute_script(ground)
    button = one(browser, "#theme")
    button.click()
    button.click()
    assert button.text == "Theme: dark"
    dark = browser.execute_script(ground)
    assert dark != light
    browser.get(server + "/corpus")
    assert browser.execute_script(ground) == dark
    browser.execute_script("localStorage.clear()")


def test_a_token_opens_its_own_documents_until_the_log_out(browser: webdriver.Chrome) -> None:
    with Knowledge.open("memory:", settings=settings(tokens=True), embedder=HashEmbedder()) as knowledge:
        from http_room import DOCUMENTS  # noqa: PLC0415 - here alone

        knowledge.ingest_documents(DOCUMENTS)
        with running(create_app(knowledge, beside=partial(_beside, version="1"))) as address:
            browser.get(f"{address}{HOME}?q=plan")
            one(browser, "#token").send_keys(token("team-a") + Keys.ENTER)
            one(browser, ".items")
            assert here(browser) == f"{HOME}?q=plan"
            assert "The alpha plan needs a wheel." in one(browser, "main").text
            assert "sail" not in browser.page_source
            assert browser.execute_script("return document.cookie") == ""
            shot(browser, "log-in-light")
            one(browser, ".top form button").click()
            one(browser, "#token")
            browser.get(f"{address}{HOME}/corpus")
            assert one(browser, "#token")
