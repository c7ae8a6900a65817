"""What is kept of a library, and the file that carries it from configuration to generation."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from codegen.errors import Position, SpecError
from codegen.loader import Library
from codegen.op import Op
from codegen.spec import Variant
from codegen.vocabulary import Storage

_SOURCES = sorted(Path(__file__).resolve().parent.parent.rglob("*.py"))  # the generator itself


@dataclass(slots=True)
class Selection:
    """Ops, and which of their variants. An op may be kept without any: a view takes no kernel."""

    variants: dict[str, set[str]] = field(default_factory=dict)  # op name → ids

    def add(self, op: Op, variants: Iterable[Variant]) -> bool:
        """Keeps the op and these variants; whether that is more than before."""
        ids = {variant.id for variant in variants}
        grows = op.name not in self.variants or not ids <= self.variants[op.name]
        self.variants.setdefault(op.name, set()).update(ids)
        return grows

    def kept(self, library: Library) -> list[Variant]:
        """The variants in order of key."""
        return [v for v in library.variants if v.id in self.variants.get(v.op, ())]


def dispatched(op: Op, variants: Iterable[Variant]) -> list[Variant]:
    """Those of the op's variants that the runtime can come to use: views of buffers are aliases."""
    if not op.is_view:
        return list(variants)
    return [v for v in variants if v.storage is not Storage.BUFFER]


def reduced(library: Library, selection: Selection) -> Library:
    """The library without what is not kept. Kernels keep their numbers, and variants their keys."""
    variants = tuple(selection.kept(library))
    ops = {
        name: dataclasses.replace(op, variants=tuple(v for v in variants if v.op == name))
        for name, op in library.ops.items()
        if name in selection.variants
    }
    return dataclasses.replace(library, ops=ops, variants=variants)


def selection_text(selection: Selection) -> str:
    """The selection as JSON."""
    content = {
        "version": 1,
        "ops": {name: sorted(ids) for name, ids in sorted(selection.variants.items())},
    }
    return json.dumps(content, indent=1) + "\n"


def inputs_of(library: Library, selectors: Iterable[Path]) -> set[Path]:
    """All that a selection by these files follows from; a folder for the files to come."""
    read = {source.path for source in (*library.specs, *library.templates.files.values())}
    folders = {path.parent for path in read}
    specs = {path for path in read if path.suffix == ".yaml"}
    return {*selectors, *specs, *folders, *_SOURCES}


def read_selection(path: Path, library: Library) -> Selection:
    """A selection made for this library. Fails if the specs have changed underneath it."""
    try:
        ops = json.loads(path.read_bytes())["ops"]
        wanted = {str(name): {str(id) for id in ids} for name, ids in ops.items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise SpecError.at(Position(str(path)), f"No selection can be read: {error}.") from None
    known = {variant.id for variant in library.variants}
    for name, ids in wanted.items():
        gone = sorted(ids - known) if name in library.ops else [name]
        if gone:
            message = f"'{gone[0]}' is selected, but the specs do not have it; configure again."
            raise SpecError.at(Position(str(path)), message)
    return Selection(wanted)
