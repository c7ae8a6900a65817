"""Fuzzes the import of exported programs: reading the archive, converting, writing the graph.

.venv/bin/python -m tests.fuzz.torch_import --minutes 10 --seed 7 --findings DIR

tests/torch/fuzz_seeds.py generates the seeds.
"""

from __future__ import annotations

import io
import json
import random
import zipfile
from functools import cache
from pathlib import Path

from spirloom import graph_file, graph_reader
from spirloom.errors import ImportFailure
from spirloom.op_library import OpLibrary
from spirloom.torch.archived_program import read_archive
from spirloom.torch.build import build
from spirloom.torch.options import Options

from tests.fuzz.campaign import Target, exit_with
from tests.fuzz.json_mutation import mutate
from tests.fuzz.onnx_import import scratch
from tests.fuzz.onnx_mutation import mutate_bytes

SEEDS = Path(__file__).parent / "corpus" / "torch_import"
CONSTANTS_LIMIT = 64 << 20
Members = dict[str, bytes]


def make(choose: random.Random) -> Members:
    """An archive. A fifth have damaged bytes, the others changed content."""
    weights = [1 if _is_dynamic(members) else 6 for members in seeds()]
    members = dict(choose.choices(seeds(), weights)[0])
    if choose.random() < 0.2:
        return {"m.pt2": mutate_bytes(packed(members, choose), choose)}
    for _ in range(choose.randint(1, 3)):
        _change(members, choose)
    return {"m.pt2": packed(members, choose)}


def _change(members: Members, choose: random.Random) -> None:
    """Changes the program, or less often another JSON file or a complete member."""
    names = sorted(members)
    model = next((n for n in names if n.endswith("models/model.json")), names[0])
    name = model if choose.random() < 0.8 else choose.choice(names)
    if name.endswith(".json"):
        value = json.loads(members[name])
        mutate(value, choose)
        members[name] = json.dumps(value).encode()
    elif choose.random() < 0.3 and len(members) > 1:
        del members[name]
    else:
        members[name] = mutate_bytes(members[name], choose)


def packed(members: Members, choose: random.Random) -> bytes:
    """A zip file of the members, some compressed."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            how = zipfile.ZIP_DEFLATED if choose.random() < 0.1 else zipfile.ZIP_STORED
            archive.writestr(zipfile.ZipInfo(name), content, how)
    return out.getvalue()


def run(files: Members) -> bool:
    """Imports the archive and reads the written graph; returns whether the import succeeded."""
    path = scratch() / "m.pt2"
    path.write_bytes(files["m.pt2"])
    try:
        graph = build(read_archive(path), library(), Options(constants_limit=CONSTANTS_LIMIT))
    except ImportFailure:
        return False
    written = scratch() / "m.slg"
    written.write_bytes(graph_file.to_bytes(graph))
    graph_reader.load(written)
    return True


@cache
def seeds() -> tuple[Members, ...]:
    """The members of each archive by name."""
    found = []
    for path in sorted(SEEDS.glob("*.pt2")):
        with zipfile.ZipFile(path) as archive:
            found.append({name: archive.read(name) for name in archive.namelist()})
    return tuple(found)


def _is_dynamic(members: Members) -> bool:
    """Whether the program has dynamic shapes: its import takes longer."""
    return any(b'range_constraints":{"' in content for content in members.values())


@cache
def library() -> OpLibrary:
    """The operator library."""
    return OpLibrary()


TARGET = Target(make, run)

if __name__ == "__main__":
    exit_with(__doc__, TARGET)
