"""Fuzzes the reading of specs and templates, up to the GLSL of every variant.

.venv/bin/python -m tests.fuzz.op_specs --minutes 10 --seed 7 --findings DIR
"""

from __future__ import annotations

import atexit
import random
import shutil
import tempfile
from functools import cache
from pathlib import Path

from codegen.generate import render_all
from spec_model import load_library
from spec_model.errors import SpecError
from tests.codegen.rich_spec import FILES, SHORT_FILES
from tests.fuzz.campaign import ROOT, Target, exit_with
from tests.fuzz.spec_mutation import mutate_structure, mutate_tokens, tokens_of, values_of

# Operators of the library with small specs. Their templates are longer and slower than those of the
# test projects.
_OURS = (
    "elementwise/relu",
    "elementwise/hardswish",
    "elementwise/clamp",
    "elementwise/add",
    "elementwise/where",
    "elementwise/bitwise",
    "gemm/addmm",
    "normalization/softmax",
    "reduction/cumsum",
    "data_movement/cat",
    "data_movement/roll",
    "data_movement/triu",
)
_OURS_SHARE = 0.1
_ALL = {**FILES, **SHORT_FILES}


@cache
def seeds() -> tuple[tuple[dict[str, str], ...], tuple[dict[str, str], ...]]:
    """Valid files: test projects, and specs of the library."""
    small = {name: text for name, text in FILES.items() if "rich" not in name}
    ours = [f"op_specs/{name}.yaml" for name in _OURS]
    return (small, FILES, SHORT_FILES), tuple({name: (ROOT / name).read_text()} for name in ours)


@cache
def _tokens() -> tuple[str, ...]:
    return tuple(token for text in _ALL.values() for token in tokens_of(text))


@cache
def _values() -> tuple[object, ...]:
    texts = [text for name, text in _ALL.items() if name.endswith(".yaml")]
    return tuple(value for text in texts for value in values_of(text))


def make(choose: random.Random) -> dict[str, bytes]:
    """The files of a project with one damaged file."""
    files = choose.choice(seeds()[choose.random() < _OURS_SHARE])
    victim = choose.choice([*files])
    text = files[victim]
    if victim.endswith(".yaml") and choose.random() < 0.4:
        text = mutate_structure(text, _values(), choose)
    else:
        text = mutate_tokens(text, _tokens(), choose)
    return {name: (text if name == victim else old).encode() for name, old in files.items()}


def run(files: dict[str, bytes]) -> bool:
    """Loads and renders the project; returns whether it is valid. Checks that every diagnostic has
    a message and a position in an existing file."""
    root = _folder()
    shutil.rmtree(root, ignore_errors=True)
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    is_single_spec = len(files) == 1
    if is_single_spec:
        for module in (ROOT / "op_specs").glob("*/*.py"):
            link = root / module.relative_to(ROOT)
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(module)
    templates = (ROOT if is_single_spec else root) / "templates/glsl"
    try:
        render_all(load_library([root / "op_specs"], [templates], root))
    except SpecError as error:
        assert error.diagnostics
        for diagnostic in error.diagnostics:
            file = diagnostic.position.file
            assert file in files or (ROOT / file).is_file(), str(error)
            assert diagnostic.message, str(error)
        return False
    return True


@cache
def _folder() -> Path:
    """A temporary directory, in memory if /dev/shm exists."""
    memory = Path("/dev/shm")
    path = tempfile.mkdtemp(prefix="spirloom-fuzz-", dir=memory if memory.is_dir() else None)
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return Path(path) / "project"


TARGET = Target(make, run)

if __name__ == "__main__":
    exit_with(__doc__, TARGET)
