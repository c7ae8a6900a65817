"""Pages and pictures are what the results give, and say where not to trust them."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from benchmarks import toolchain
from benchmarks.context import Rate
from benchmarks.gpu import page as page_gpu
from benchmarks.kernels import Ceilings
from benchmarks.language import Program, common
from benchmarks.performance import files, read_results
from benchmarks.plot import Bars, chart
from benchmarks.reports import Results, conditions, language_row, network_row, page
from benchmarks.tables import figure, percent, table

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results"
COMMITTED = files(read_results(RESULTS)) | page_gpu.files(page_gpu.read_results(RESULTS))


@pytest.mark.parametrize("path", sorted(COMMITTED))
def test_what_is_committed_follows_from_the_results(path: str) -> None:
    committed = (ROOT / path).read_text(encoding="utf-8")
    assert committed == COMMITTED[path], f"{path} is stale: .venv/bin/python -m benchmarks pages"


def test_the_toolchains_page_follows_from_its_results() -> None:
    results = toolchain.read_results(RESULTS / "toolchain.json")
    committed = (RESULTS / "toolchain.md").read_text(encoding="utf-8")
    assert committed == toolchain.report(results)


def results(others: float) -> Results:
    return {
        "machine": {"cpu": "a processor"},
        "times": 3,
        "others": others,
        "network": "net",
        "pipelines": 4,
        "variants": 3,
        "starts": {"spirloom cold": {"load_ms": 12.0, "first_run_ms": 3.0, "result_ms": 15.0}},
    }


def test_a_page_says_how_it_was_made() -> None:
    text = page("load", results(0.02))
    assert text.startswith("# Loading\n\nMade by `./dev bench load`: the least of 3 processes")
    assert "Machine: cpu a processor. Others used 2.0 % of the processors meanwhile." in text
    assert "| spirloom cold | 12.0 |  | 3.00 | 15.0 |  |" in text


def test_a_busy_machine_is_told() -> None:
    assert "busy" not in conditions("load", results(0.02))
    assert "The machine was busy" in conditions("load", results(0.2))


def test_a_network_stands_beside_ceiling_and_peers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.context.cores", lambda: 2)
    ceilings = Ceilings(Rate(100e9, 100e9), Rate(1, 1), Rate(1, 1))
    network = {
        "name": "net",
        "multiply_adds": 500_000_000,
        "times": {
            "spirloom": {"wall": 0.1, "cpu": 0.1},
            "ncnn": {"wall": 0.3, "cpu": 0.2},
        },
    }
    assert network_row(network, ceilings) == (
        "net", "0.50", "100", "100", "10.0", "10 %", "20 %", "", "", "300", "200", "3.00×", "2.00×",
    )  # fmt: skip


def test_figures_have_three_digits() -> None:
    assert [figure(v) for v in (1234, 99.96, 12.34, 9.996, 1.234, 0.1234)] == [
        "1234", "100", "12.3", "10.0", "1.23", "0.12",
    ]  # fmt: skip
    assert [percent(v) for v in (1, 0.0996, 0.0994)] == ["100 %", "10 %", "9.9 %"]


def test_tables_align_numbers_to_the_right() -> None:
    assert table(("a", "b"), [("x", "1")]) == "| a | b |\n| --- | --: |\n| x | 1 |\n"


def test_charts_are_well_formed_whatever_the_names() -> None:
    rows = [Bars("<&>", {0: 1.0}), Bars("b", {0: 0.0, 1: 2.0})]
    drawn = chart("a & b", ("x", "y"), rows, "%")
    root = ElementTree.fromstring(drawn)
    bars = root.findall("{http://www.w3.org/2000/svg}rect")
    assert len(bars) == 2 + 3  # the legend's and the values'
    assert max(float(bar.get("width", "0")) for bar in bars) == 400
    assert chart("none", ("x",), [], "%").startswith("<svg")


def test_a_language_model_stands_beside_its_peer() -> None:
    rates = {"spirloom": {"prompt": 250.0, "reply": 50.0}, "ggml": {"prompt": 25.0, "reply": 4.0}}
    model: Results = {"weights": "q4_0", "rates": rates, "same": 64}
    row = ("q4_0", "250", "50.0", "25.0", "4.00", "10.0×", "12.5×", "64")
    assert language_row(model) == row
    alone = {**model, "rates": {"spirloom": rates["spirloom"]}}
    assert language_row(alone) == ("q4_0", "250", "50.0", "", "", "", "", "")


def test_a_programs_least_times_are_its_rates() -> None:
    program = Program()
    for prompt, reply in ((2.0, 1.0), (1.0, 2.0)):
        program.add({"device": "a device", "tokens": list(range(65)),
                     "prompt_seconds": prompt, "reply_seconds": reply})  # fmt: skip
    assert program.rates() == {"prompt": 128.0, "reply": 64.0}


def test_tokens_are_the_same_up_to_the_first_that_is_not() -> None:
    assert common([1, 2, 3], [1, 2, 3]) == 3
    assert common([1, 2, 3, 4], [1, 2, 5, 4]) == 2
