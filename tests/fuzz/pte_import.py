"""Fuzzes the import of ExecuTorch programs: reading the file, converting, writing the graph.

.venv/bin/python -m tests.fuzz.pte_import --minutes 10 --seed 7 --findings DIR

tests/executorch/make_programs.py generates the seeds.
"""

from __future__ import annotations

import random
from functools import cache
from pathlib import Path

from spirloom import graph_file, graph_reader
from spirloom.errors import ImportFailure
from spirloom.op_library import OpLibrary
from spirloom.pte.describe import to_text
from spirloom.pte.file import ProgramFile, cases_of
from spirloom.pte.importer import import_method
from spirloom.pte.method import method_of
from spirloom.torch.options import Options

from tests.fuzz.campaign import Target, exit_with
from tests.fuzz.onnx_import import scratch
from tests.fuzz.onnx_mutation import mutate_bytes

SEEDS = Path(__file__).parent / "corpus" / "pte_import"
CONSTANTS_LIMIT = 64 << 20
LARGE = 10_000  # bytes; larger programs are slow and used less often
Files = dict[str, bytes]
_WORDS = (0, 1, 2, 3, 4, 5, 7, 8, 16, 255, 1 << 16, 1 << 31, (1 << 32) - 1, (1 << 32) - 2)


def make(choose: random.Random) -> Files:
    """A program with a few changed 32-bit words: values, indices, offsets. A tenth of the programs
    have arbitrary damage."""
    weights = [1 if len(seed) > LARGE else 6 for seed in seeds()]
    data = bytearray(choose.choices(seeds(), weights)[0])
    if choose.random() < 0.1:
        return {"m.pte": mutate_bytes(bytes(data), choose)}
    for _ in range(choose.randint(1, 3)):
        _change(data, choose)
    return {"m.pte": bytes(data)}


def _change(data: bytearray, choose: random.Random) -> None:
    offset = choose.randrange(len(data) // 4) * 4
    word = int.from_bytes(data[offset : offset + 4], "little")
    match choose.randrange(4):
        case 0:
            word = choose.choice(_WORDS)
        case 1:
            word += choose.choice((-4, -1, 1, 4))
        case 2:
            other = choose.randrange(len(data) // 4) * 4
            word = int.from_bytes(data[other : other + 4], "little")
        case _:
            data[choose.randrange(len(data))] = choose.randrange(256)
            return
    data[offset : offset + 4] = (word % (1 << 32)).to_bytes(4, "little")


def run(files: Files) -> bool:
    """Imports the program and reads the written graph; returns whether the import succeeded."""
    path = scratch() / "m.pte"
    path.write_bytes(files["m.pte"])
    try:
        file = ProgramFile(path)
        to_text(file)
        cases_of(file, method_of(file, None)["name"])
        graph = import_method(file, library(), Options(constants_limit=CONSTANTS_LIMIT))
    except ImportFailure:
        return False
    written = scratch() / "m.slg"
    written.write_bytes(graph_file.to_bytes(graph))
    graph_reader.load(written)
    return True


@cache
def seeds() -> tuple[bytes, ...]:
    """The seed programs."""
    return tuple(path.read_bytes() for path in sorted(SEEDS.glob("*pte")))


@cache
def library() -> OpLibrary:
    """The operator library."""
    return OpLibrary()


TARGET = Target(make, run)

if __name__ == "__main__":
    exit_with(__doc__, TARGET)
