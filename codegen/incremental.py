"""Incremental generation: after an edit of templates, only the affected shaders are rendered.

A full run stores its state in a file of the build tree. The state is valid as long as only texts of
templates have changed; in all other cases, a full run follows.
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

from codegen.interface_comments import Interface, check_interface
from codegen.output import Output, Request
from codegen.render import TEMPLATE_ERRORS, Rendered, Renderer, glsl_digest, unused_in
from codegen.shader import Shader
from spec_model.errors import SpecError
from spec_model.files import write_atomically
from spec_model.load.push import used_values
from spec_model.templates import Templates
from spec_model.yaml_reader import read_text

_CLOCK = 20_000_000  # ns: maximum delay of file times behind the clock


class StoredShader(NamedTuple):
    """A shader without its text. Tuples are fast to pickle."""

    id: str
    digest: bytes  # of the text
    sources: frozenset[str]
    shader: bytes  # pickled: most are not needed

    @classmethod
    def of(cls, rendered: Rendered, pickled: bytes) -> StoredShader:
        """The record of `rendered`, with its pickled shader."""
        return cls(rendered.shader.id, rendered.digest, rendered.sources, pickled)


@dataclass(frozen=True, slots=True)
class State:
    """The result of a run, for the next run."""

    key: bytes  # of all inputs but the templates' texts
    inputs: tuple[Path, ...]  # the files in `key`
    templates: Mapping[str, bytes]  # name → digest of its text
    products: Mapping[str, tuple[int, int]]  # file → bytes, time
    shaders: tuple[StoredShader, ...]
    interfaces: Mapping[str, Interface]  # by the template's file


def regenerate(request: Request, templates: Templates) -> list[str] | None:
    """Writes the products that edited templates change; returns their names. None: run in full."""
    started = time.time_ns()
    state = _read(request.state)
    if state is None or not _is_valid(state, request):
        return None
    digests = _digests(templates, state.templates)
    if digests is None:
        return None
    edited = {name for name, digest in digests.items() if digest != state.templates[name]}
    if not edited:
        return []
    if not _interfaces_hold(state, edited, templates):
        return None  # the full run reports the error
    try:
        rendered = _render_again(state, edited, Renderer(templates))
    except TEMPLATE_ERRORS:
        return None  # the full run reports the error
    if request.selection is None and unused_in(rendered.values()):
        return None  # an error, unless other shaders use them
    if any(_names_others(each.shader, templates) for each in rendered.values()):
        return None  # the push constants change
    shaders = tuple(
        StoredShader.of(rendered[kept.id], kept.shader) if kept.id in rendered else kept
        for kept in state.shaders
    )
    if frozenset().union(*(kept.sources for kept in shaders)) != digests.keys():
        return None  # templates include other templates than before
    # After an interruption, the file times invalidate the state (_is_valid()).
    output = Output(request.out, in_place=True)
    for shader in rendered.values():
        output.write(shader.shader.path, shader.text)
    output.write("glsl.digest", glsl_digest((kept.id, kept.digest) for kept in shaders))
    products, interfaces = state.products, state.interfaces
    _save(request, started, state.inputs, templates, products, shaders, interfaces)
    return output.changed


def save(
    request: Request,
    started: int,
    inputs: Iterable[Path],
    templates: Templates,
    products: Iterable[str],
    shaders: Iterable[Rendered],
    interfaces: Mapping[str, Interface],
) -> None:
    """Stores the state of a full run, unless its inputs changed during the run."""
    if request.state is None:
        return
    kept = tuple(StoredShader.of(each, pickle.dumps(each.shader, protocol=5)) for each in shaders)
    _save(request, started, inputs, templates, products, kept, interfaces)


def _save(
    request: Request,
    started: int,
    inputs: Iterable[Path],
    templates: Templates,
    products: Iterable[str],
    shaders: tuple[StoredShader, ...],
    interfaces: Mapping[str, Interface],
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
        interfaces,
    )
    if any(_stamp(path)[1] > started - _CLOCK for path in (*others, *texts.values())):
        request.state.unlink(missing_ok=True)
        return
    data = pickle.dumps(state, protocol=5)
    request.state.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(request.state, hashlib.blake2b(data).digest() + data)


def digest_of(path: Path) -> bytes:
    """A file's digest; empty if it does not exist."""
    return hashlib.blake2b(path.read_bytes()).digest() if path.is_file() else b""


def _read(path: Path | None) -> State | None:
    if path is None or not path.is_file():
        return None
    data = path.read_bytes()
    size = hashlib.blake2b().digest_size
    if hashlib.blake2b(data[size:]).digest() != data[:size]:
        return None
    try:
        state = pickle.loads(data[size:])
    except (AttributeError, ImportError, TypeError, pickle.UnpicklingError):
        return None  # written by another version of the generator
    return state if isinstance(state, State) else None


def _is_valid(state: State, request: Request) -> bool:
    if state.key != _key(request, state.inputs):
        return False
    return all(_stamp(f"{request.out}/{name}") == old for name, old in state.products.items())


def _key(request: Request, inputs: Iterable[Path]) -> bytes:
    digest = hashlib.blake2b(f"{sys.version}\n{request!r}\n".encode())
    for path in (*inputs, *_references(request)):
        digest.update(f"{path}\n".encode() + digest_of(path))
    for directory in (*request.spec_dirs, *request.template_dirs):
        names = sorted(path.relative_to(directory).as_posix() for path in directory.rglob("*.*"))
        digest.update("\n".join(names).encode())
    return digest.digest()


def _references(request: Request) -> Iterator[Path]:
    for directory in request.spec_dirs:
        yield from sorted(directory.rglob("*.py"))


def _stamp(path: str | Path) -> tuple[int, int]:
    try:
        found = os.stat(path)  # noqa: PTH116 - faster than Path for thousands of files
    except FileNotFoundError:
        return (-1, -1)
    return (found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else (-1, -1)


def _digests(templates: Templates, names: Iterable[str]) -> dict[str, bytes] | None:
    sources = {name: templates.find(name) for name in names}
    if None in sources.values():
        return None
    return {name: digest_of(source.path) for name, source in sources.items() if source}


def _interfaces_hold(state: State, edited: set[str], templates: Templates) -> bool:
    for source in map(templates.find, edited):
        interface = state.interfaces.get(source.name) if source else None
        if source is not None and interface is not None:
            try:
                check_interface(read_text(source), source.name, interface)
            except SpecError:
                return False
    return True


def _render_again(state: State, edited: set[str], renderer: Renderer) -> dict[str, Rendered]:
    """The shaders of edited templates, by id."""
    stale = [kept for kept in state.shaders if not kept.sources.isdisjoint(edited)]
    return {kept.id: renderer.fill(pickle.loads(kept.shader)) for kept in stale}


def _names_others(shader: Shader, templates: Templates) -> bool:
    """Whether the edited template names other values than those that are push constants."""
    source = templates.find(shader.template)
    assert source is not None
    used = used_values(read_text(source), shader.context, shader.pushable, templates)
    return used != shader.implied
