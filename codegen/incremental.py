"""Generating after an edit of templates: only the shaders that come from them are rendered again.

What a whole run has learnt is kept in a state file in the build tree. It serves as long as nothing
but the texts of templates has changed; whenever in doubt, the whole run is made.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import stat
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from codegen.render import TEMPLATE_ERRORS, Rendered, Renderer, glsl_digest, unused_in
from codegen.request import Request
from codegen.templates import Templates
from codegen.writer import Output, write_atomically

_CLOCK = 20_000_000  # ns by which a file's time may lag behind the clock


class Kept(NamedTuple):
    """A shader without its text; a tuple, which is fast to keep."""

    id: str
    digest: bytes  # of the text
    sources: frozenset[str]
    shader: bytes  # pickled: most are never asked for

    @classmethod
    def of(cls, rendered: Rendered, pickled: bytes) -> Kept:
        """What is kept of `rendered`, whose shader is pickled already."""
        return cls(rendered.shader.id, rendered.digest, rendered.sources, pickled)


@dataclass(frozen=True, slots=True)
class State:
    """A run's result, as the next one needs it."""

    key: bytes  # of all inputs but the templates' texts
    inputs: tuple[Path, ...]  # the files in `key`
    templates: Mapping[str, bytes]  # name → digest of its text
    products: Mapping[str, tuple[int, int]]  # file → bytes, time
    shaders: tuple[Kept, ...]


def regenerate(request: Request, templates: Templates) -> list[str] | None:
    """Writes what an edit of templates changes, and names it. None: it takes a whole run."""
    started = time.time_ns()
    state = _read(request.state)
    if state is None or not _still_holds(state, request):
        return None
    digests = _digests(templates, state.templates)
    if digests is None:
        return None
    edited = {name for name, digest in digests.items() if digest != state.templates[name]}
    if not edited:
        return []
    try:
        rendered = _render_again(state, edited, Renderer(templates))
    except TEMPLATE_ERRORS:
        return None  # the whole run says what is wrong, and where
    if request.selection is None and unused_in(rendered.values()):
        return None  # it is a mistake, unless others use what these do not
    shaders = tuple(
        Kept.of(rendered[kept.id], kept.shader) if kept.id in rendered else kept
        for kept in state.shaders
    )
    if frozenset().union(*(kept.sources for kept in shaders)) != digests.keys():
        return None  # templates include others than before
    # Where this is cut off, _still_holds() will see the times of what was written.
    output = Output(request.out, in_place=True)
    for shader in rendered.values():
        output.write(shader.shader.path, shader.text)
    output.write("glsl.digest", glsl_digest((kept.id, kept.digest) for kept in shaders))
    _save(request, started, state.inputs, templates, state.products, shaders)
    return output.changed


def save(
    request: Request,
    started: int,
    inputs: Iterable[Path],
    templates: Templates,
    products: Iterable[str],
    shaders: Iterable[Rendered],
) -> None:
    """Keeps the state of a whole run, unless its inputs changed while it ran."""
    if request.state is None:
        return
    kept = tuple(Kept.of(each, pickle.dumps(each.shader, protocol=5)) for each in shaders)
    _save(request, started, inputs, templates, products, kept)


def _save(
    request: Request,
    started: int,
    inputs: Iterable[Path],
    templates: Templates,
    products: Iterable[str],
    shaders: tuple[Kept, ...],
) -> None:
    assert request.state is not None
    names = sorted(frozenset().union(*(kept.sources for kept in shaders)))
    sources = {name: templates.find(name) for name in names}
    texts = {name: source.path for name, source in sources.items() if source}
    others = tuple(sorted(set(inputs) - set(texts.values())))
    state = State(
        _key(request, others),
        others,
        {name: digest_of(path) for name, path in texts.items()},
        {name: _stamp(f"{request.out}/{name}") for name in sorted(products)},
        shaders,
    )
    if any(_stamp(path)[1] > started - _CLOCK for path in (*others, *texts.values())):
        request.state.unlink(missing_ok=True)
        return
    data = pickle.dumps(state, protocol=5)
    request.state.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(request.state, hashlib.blake2b(data).digest() + data)


def digest_of(path: Path) -> bytes:
    """A file's digest; empty if there is none."""
    return hashlib.blake2b(path.read_bytes()).digest() if path.is_file() else b""


def _read(path: Path | None) -> State | None:
    if path is None or not path.is_file():
        return None
    data = path.read_bytes()
    size = hashlib.blake2b().digest_size
    if hashlib.blake2b(data[size:]).digest() != data[:size]:
        return None
    state = pickle.loads(data[size:])
    return state if isinstance(state, State) else None


def _still_holds(state: State, request: Request) -> bool:
    if state.key != _key(request, state.inputs):
        return False
    return all(_stamp(f"{request.out}/{name}") == old for name, old in state.products.items())


def _key(request: Request, inputs: Iterable[Path]) -> bytes:
    digest = hashlib.blake2b(f"{sys.version}\n{request!r}\n".encode())
    for path in (*inputs, *_references(request)):
        digest.update(f"{path}\n".encode() + digest_of(path))
    for folder in (*request.spec_dirs, *request.template_dirs):
        names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.*"))
        digest.update("\n".join(names).encode())
    return digest.digest()


def _references(request: Request) -> Iterator[Path]:
    for folder in request.spec_dirs:
        yield from sorted(folder.glob("reference/*.py"))


def _stamp(path: str | Path) -> tuple[int, int]:
    try:
        found = os.stat(path)  # noqa: PTH116 - of thousands, without making Paths of them
    except FileNotFoundError:
        return (-1, -1)
    return (found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else (-1, -1)


def _digests(templates: Templates, names: Iterable[str]) -> dict[str, bytes] | None:
    sources = {name: templates.find(name) for name in names}
    if None in sources.values():
        return None
    return {name: digest_of(source.path) for name, source in sources.items() if source}


def _render_again(state: State, edited: set[str], renderer: Renderer) -> dict[str, Rendered]:
    """By id, the shaders that come from an edited template."""
    stale = [kept for kept in state.shaders if not kept.sources.isdisjoint(edited)]
    return {kept.id: renderer.fill(pickle.loads(kept.shader)) for kept in stale}
