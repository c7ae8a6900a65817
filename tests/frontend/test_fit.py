"""`--fit`: the context and prefill size of a language model for an amount of device memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from spirloom.cli import main
from spirloom.errors import ImportFailure
from spirloom.family.fit import constant_bytes, fitting, peak_bytes, required_bytes
from spirloom.gguf import import_gguf
from spirloom.ir import DType, Graph, Node, Tensor
from spirloom.op_library import OpLibrary

from tests.frontend.test_gguf import saved

RESERVED = 64 << 20
CONTEXT = 1 << 13


def fit(path: Path, library: OpLibrary, free: int, prefill: int | None = None) -> list[Graph]:
    file = saved(path)

    def read(context: int | None, max_prefill: int | None) -> list[Graph]:
        return import_gguf(file, context=context, max_prefill=max_prefill, library=library)

    graphs, text = fitting(read, free, CONTEXT, prefill)
    rows, tokens = sizes(graphs)
    assert text.startswith(f"context of {rows} tokens, prefill of up to {tokens}: ")
    assert required_bytes(graphs) <= free
    return graphs


def sizes(graphs: list[Graph]) -> tuple[int, int]:
    caches = [state for state in graphs[0].states if state.tensor.name == "k_cache.0"]
    symbol = graphs[0].symbols[0]
    return caches[0].tensor.shape[1], symbol.max


def test_everything_fits(library: OpLibrary, tmp_path: Path) -> None:
    assert sizes(fit(tmp_path, library, 1 << 40)) == (CONTEXT, 512)
    assert sizes(fit(tmp_path, library, 1 << 40, prefill=100)) == (CONTEXT, 100)


def test_the_context_shrinks(library: OpLibrary, tmp_path: Path) -> None:
    """Less memory never gives a longer context, and the states always fit."""
    before = CONTEXT
    everything = required_bytes(fit(tmp_path, library, 1 << 40)) - RESERVED
    for part in (0.9, 0.7, 0.5, 0.4):
        free = RESERVED + int(everything * part)
        rows, tokens = sizes(fit(tmp_path, library, free))
        assert rows <= before
        assert 32 <= tokens <= 512
        before = rows
    assert before < CONTEXT


def test_nothing_fits(library: OpLibrary, tmp_path: Path) -> None:
    message = (
        r"requires [\d,]+ bytes .* context of 256 tokens; 1,000 bytes are free. Use --quantize"
    )
    with pytest.raises(ImportFailure, match=message):
        fit(tmp_path, library, 1000)


def test_bytes_of_a_graph() -> None:
    x, a, b, y = (Tensor(name, DType.F32, (256,)) for name in "xaby")
    nodes = [
        Node("aten.relu", (x,), (a,)),
        Node("aten.relu", (a,), (b,)),
        Node("aten.add.Tensor", (b, b, 1.0, 0, 0.0, 0.0), (y,)),
    ]
    assert peak_bytes(Graph([x], [y], nodes)) == 2 * 1024
    assert constant_bytes([Graph([x], [y], nodes)]) == 0


def test_the_option(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, output = saved(tmp_path), tmp_path / "x.slg"
    assert main(["import", str(file), "-o", str(output), "--fit", "2G"]) == 0
    assert "free bytes" in capsys.readouterr().err
    for wrong in ("0", "5 parsecs", "G", "3GG"):
        with pytest.raises(SystemExit):
            main(["import", str(file), "-o", str(output), "--fit", wrong])
        assert f"'{wrong}' is not a size such as 512M or 6G" in capsys.readouterr().err
