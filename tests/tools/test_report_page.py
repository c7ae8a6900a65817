"""The page of `spirloom report` in a headless Chromium: it loads, searches, opens modules, and logs
no errors.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait
from spirloom import cli, graph_file
from spirloom.ir import DType, Graph, Node, Tensor
from spirloom.report import shader_statistics
from spirloom.report.page import statistics_page_of
from spirloom.report.shader_statistics import statistics_data
from spirloom.report.write import Sources, write_report

from tests.tools.programs import Program

LAYERS = 100
PARTS = 20  # nodes of a layer


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, spirloom_run: Program) -> Path:
    """The report of 2000 nodes in 100 modules of 4, with a profile."""
    directory = tmp_path_factory.mktemp("report")
    tensor = first = x = Tensor("x", DType.F32, (4, 4))
    nodes = []
    for i in range(LAYERS * PARTS):
        layer, part = divmod(i, PARTS)
        name = f"m.layers.{layer}.block{part // 5}/relu{i}"
        result = Tensor(f"t{i}", DType.F32, (4, 4))
        skips = part == PARTS - 1
        args: Any = (tensor, first, 1.0, 0, 0.0, 0.0) if skips else (tensor,)
        nodes.append(Node("aten.add.Tensor" if skips else "aten.relu", args, (result,), name))
        tensor = result
        first = result if skips else first
    model, profile = directory / "net.slg", directory / "net.slprof"
    graph_file.save(Graph([x], [tensor], nodes), model)
    done = spirloom_run(model, "--random", "--repeat", "2", "--profile-out", profile)
    assert done.returncode == 0, done.stderr
    write_report(model, directory / "net.html", Sources(profile=profile))
    return directory / "net.html"


@pytest.fixture(scope="module")
def browser(page: Path) -> Iterator[Chrome]:
    options = Options()
    for argument in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage",
                     "window-size=1200,800"):  # fmt: skip
        options.add_argument(f"--{argument}")
    options.binary_location = "/usr/bin/chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    browser = Chrome(service=Service("/usr/bin/chromedriver"), options=options)
    browser.get(page.as_uri())
    yield browser
    browser.quit()


@pytest.fixture(autouse=True)
def no_errors(browser: Chrome) -> Iterator[None]:
    """Fails a test during which the console received an error."""
    yield
    messages = browser.get_log("browser")  # type: ignore[no-untyped-call]
    assert [each for each in messages if each["level"] == "SEVERE"] == []


def script(browser: Chrome, text: str, *arguments: object) -> Any:
    return browser.execute_script(text, *arguments)  # type: ignore[no-untyped-call]


def until(browser: Chrome, condition: Callable[[Chrome], object]) -> None:
    WebDriverWait(browser, 20).until(condition)


def colors(browser: Chrome, canvas: str) -> int:
    """The number of distinct colors of a canvas, in a grid of points."""
    return int(script(browser, """
        const canvas = document.getElementById(arguments[0]);
        const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const found = new Set();
        for (let i = 0; i < data.length; i += 4 * 7) found.add(data.slice(i, i + 4).join());
        return found.size;""", canvas))  # fmt: skip


def drawn(browser: Chrome, canvas: str) -> bool:
    return colors(browser, canvas) > 3


def open_view(browser: Chrome, view: str) -> int:
    script(browser, "spirloomReport.show('graph'); spirloomReport.graph.open(arguments[0])", view)
    return int(script(browser, "return spirloomReport.graph.count()"))


def click_box(browser: Chrome, name: str, double: bool = False) -> None:
    place = script(browser, "return spirloomReport.graph.position(arguments[0])", name)
    assert place is not None, f"{name} has no box in this view"
    chain = ActionChains(browser)
    chain.w3c_actions.pointer_action.move_to_location(*map(round, place))
    (chain.double_click() if double else chain.click()).perform()


def test_it_loads(browser: Chrome) -> None:
    assert browser.title == "net.slg – Spirloom report"
    assert "2000 nodes" in browser.find_element(By.ID, "summary").text
    until(browser, partial(drawn, canvas="graph-canvas"))
    requests = script(browser, "return performance.getEntriesByType('resource').length")
    assert requests == 0


def test_all_nodes_and_collapsed_modules(browser: Chrome) -> None:
    assert open_view(browser, "all") == LAYERS * PARTS
    assert open_view(browser, "depth:3") == LAYERS
    assert open_view(browser, "depth:4") == LAYERS * PARTS // 5


def test_search(browser: Chrome) -> None:
    search = browser.find_element(By.ID, "search")
    search.send_keys("layers.42 relu842")
    results = browser.find_elements(By.CSS_SELECTOR, "#results li")
    assert [each.text for each in results] == ["m.layers.42.block0/relu842 (aten.relu)"]
    search.send_keys(Keys.ENTER)
    assert browser.find_element(By.ID, "details-name").text == "m.layers.42.block0/relu842"
    assert "dispatch 842: relu_f32_buffer" in browser.find_element(By.ID, "details").text
    search.clear()


def test_click_and_open_a_module(browser: Chrome) -> None:
    open_view(browser, "depth:3")
    click_box(browser, "m/layers/0")
    assert browser.find_element(By.CSS_SELECTOR, "#details h2").text == "m/layers/0"
    click_box(browser, "m/layers/0", double=True)
    until(browser, lambda _: browser.find_element(By.ID, "path").text == "model / m / layers / 0")
    browser.find_element(By.XPATH, "//*[@id='path']/a[text()='layers']").click()
    assert browser.find_element(By.ID, "path").text == "model / m / layers"


def test_colors(browser: Chrome) -> None:
    select = browser.find_element(By.ID, "color")
    modes = [
        option.get_attribute("value") for option in select.find_elements(By.TAG_NAME, "option")
    ]  # type: ignore[no-untyped-call]
    assert modes == ["time", "op", "dtype", "storage"]
    for mode in ["op", "dtype", "storage", "time"]:
        select.find_element(By.CSS_SELECTOR, f"option[value={mode}]").click()
        legend = browser.find_element(By.ID, "legend").text
        expected = {"op": "relu", "dtype": "f32", "storage": "buffer", "time": "ms of"}[mode]
        assert expected in legend


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_all_tabs(browser: Chrome, theme: str) -> None:
    script(browser, "spirloomReport.setTheme(arguments[0])", theme)
    for tab in ("timeline", "memory"):
        browser.find_element(By.ID, f"tab-{tab}").click()
        until(browser, partial(drawn, canvas=f"{tab}-canvas"))
    assert "the 3 tensors that are live" in browser.find_element(By.ID, "peak").text
    browser.find_element(By.ID, "tab-kernels").click()
    kernels = browser.find_element(By.CSS_SELECTOR, "#kernels table").text
    assert "relu_f32_buffer" in kernels
    browser.find_element(By.ID, "tab-graph").click()


def test_a_dispatch_leads_to_its_node(browser: Chrome) -> None:
    browser.find_element(By.ID, "tab-kernels").click()
    script(browser, "document.querySelector('[data-dispatch=\"7\"]').click()")
    assert browser.find_element(By.ID, "details-name").text == "m.layers.0.block1/relu7"


def test_the_partition(browser: Chrome, page: Path, tmp_path: Path) -> None:
    """The segments of `spirloom partition --json`, and the reasons of nodes on the host."""
    nodes = [
        {"op": "NonZero", "name": name, "placement": where, "reason": reason}
        for name, where, reason in (("a", "device", ""), ("b", "host", "its output size varies"))
    ]
    segments = [{"placement": where, "nodes": 1, "operators": {"NonZero": 1}, "inputs": ["x"],
                 "outputs": ["y"], "bytes_in": 64, "bytes_out": 1500}
                for where in ("device", "host")]  # fmt: skip
    partition = tmp_path / "partition.json"
    partition.write_text(json.dumps({"full": False, "segments": segments, "nodes": nodes}))
    sources = Sources(profile=page.with_suffix(".slprof"), partition=partition)
    write_report(page.with_suffix(".slg"), tmp_path / "page.html", sources)
    browser.get((tmp_path / "page.html").as_uri())
    browser.find_element(By.ID, "tab-partition").click()
    text = browser.find_element(By.ID, "partition").text
    assert "2 segments in execution order; 1 of 2 nodes on the host." in text
    assert "1.5 kB" in text
    assert "b NonZero its output size varies" in text


@pytest.fixture(scope="module")
def statistics_files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two files of drivers, three families."""
    directory = tmp_path_factory.mktemp("statistics")
    texts = {
        "installed.tsv": (
            "# radv A. lds: bytes\n"
            "variant lds x.vgprs x.spills y.vgprs y.spills\n"
            "add_f32 0 9 0 7 1\nmul_f32 4 100 2 - -\nneg_f32_buffer 0 20 0 5 0\n"
        ),
        "new.tsv": ("# radv B. lds: bytes\nvariant lds z.vgprs z.spills\nadd_f32 0 8 0\n"),
    }
    for name, text in texts.items():
        first, _, table = text.partition("\n")
        lines = f"{first}\n{table.replace(' ', chr(9))}"
        (directory / name).write_text(lines, encoding="utf-8")
    return [directory / name for name in texts]


def test_the_catalog(
    browser: Chrome, tmp_path: Path, statistics_files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`spirloom ops relu neg --html`: facts, GLSL, template, and the statistics by vendor."""
    monkeypatch.setattr(shader_statistics, "TABLES", statistics_files[0].parent)
    page = tmp_path / "ops.html"
    assert cli.main(["ops", "relu", "neg", "--html", str(page)]) == 0
    browser.get(page.as_uri())
    assert "2 operators" in browser.find_element(By.ID, "summary").text
    browser.find_element(By.ID, "search").send_keys("neg", Keys.ENTER)
    assert browser.find_element(By.ID, "name").text == "aten.neg"
    table = browser.find_element(By.CSS_SELECTOR, "#op table").text
    assert "neg_f32_buffer" in table
    assert "x.vgprs" in table and "y.vgprs" in table
    shaders = browser.find_elements(By.CSS_SELECTOR, "#op details pre")
    sources = [shader.get_attribute("textContent") or "" for shader in shaders]  # type: ignore[no-untyped-call]
    assert any("void main()" in source for source in sources)
    assert any("{%" in source for source in sources)


def test_the_data_of_shader_statistics(statistics_files: list[Path]) -> None:
    x, y, z = statistics_data(statistics_files)["families"]
    assert (x["name"], x["driver"], x["columns"]) == ("x", "radv A", ["vgprs", "spills", "lds"])
    assert x["rows"] == [["add_f32", 9, 0, 0], ["mul_f32", 100, 2, 4], ["neg_f32_buffer", 20, 0, 0]]
    assert [row[0] for row in y["rows"]] == [
        "add_f32",
        "neg_f32_buffer",
    ]  # the other was not compiled
    assert (z["driver"], z["rows"]) == ("radv B", [["add_f32", 8, 0, 0]])


def test_the_page_of_shader_statistics(
    browser: Chrome, tmp_path: Path, statistics_files: list[Path]
) -> None:
    """Search by words and comparisons; sorting by a column; families; a link to a search."""
    page = tmp_path / "statistics.html"
    page.write_text(statistics_page_of(statistics_data(statistics_files)), encoding="utf-8")
    browser.get(page.as_uri())

    def shown() -> list[str]:
        rows = browser.find_elements(By.CSS_SELECTOR, "#rows tbody tr")
        return [row.text.split()[0] for row in rows if row.is_displayed()]

    assert shown() == ["add_f32", "mul_f32", "neg_f32_buffer"]
    browser.find_element(By.CSS_SELECTOR, "#rows th[data-key=vgprs]").click()
    assert shown() == ["mul_f32", "neg_f32_buffer", "add_f32"]
    browser.find_element(By.ID, "search").send_keys("f32 vgprs<=20")
    until(browser, lambda _: shown() == ["neg_f32_buffer", "add_f32"])
    assert browser.find_element(By.ID, "count").text == "2 of 3 variants"
    browser.find_element(By.CSS_SELECTOR, "#rows th[data-key=vgprs]").click()
    assert shown() == ["add_f32", "neg_f32_buffer"]  # the search stays
    browser.get("about:blank")
    browser.get(f"{page.as_uri()}#y%20spills%3E0")
    assert browser.find_element(By.ID, "family").get_attribute("value") == "y"  # type: ignore[no-untyped-call]
    assert shown() == ["add_f32"]


def test_operators_of_the_catalog(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["ops", "relo", "--html", str(tmp_path / "x.html")]) == 1
    assert "Operator 'relo' does not exist." in capsys.readouterr().err
    with pytest.raises(SystemExit):
        cli.main(["ops", "relu"])
