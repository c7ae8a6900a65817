"""The template folders: finding templates and the defaults that stand beside them."""

from __future__ import annotations

from collections.abc import Sequence as Seq
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from codegen.errors import SpecError, one_of
from codegen.fields import as_scalar
from codegen.yaml_reader import Entry, Mapping, Scalar, Sequence, SourceFile, read_yaml

_SUFFIX = ".glsl.j2"
_EXTENDS = "extends"


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of specs or templates: where it is, and what messages and products call it."""

    path: Path
    name: str

    def file(self, relative: str) -> SourceFile:
        """A file in it."""
        return SourceFile(self.path / relative, f"{self.name}/{relative}")


@dataclass(slots=True)
class Templates:
    """Finds templates by name; later folders hide earlier ones."""

    folders: Seq[Folder]
    _sidecars: dict[str, Mapping | None] = field(default_factory=dict)
    files: dict[str, SourceFile] = field(default_factory=dict)  # everything read so far

    def find(self, name: str) -> SourceFile | None:
        """The file of a template, e.g. `lib/prelude.glsl.j2`."""
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            return None
        for folder in reversed(self.folders):
            source = folder.file(name)
            if source.path.is_file():
                self.files[source.name] = source
                return source
        return None

    def need(self, name: Scalar) -> SourceFile:
        """The file of a kernel's template. Fails at the spec if there is none."""
        source = self.find(name.text)
        if source is None or not name.text.endswith(_SUFFIX):
            known = sorted({p.name for f in self.folders for p in f.path.glob(f"*{_SUFFIX}")})
            message = f"Template '{name.text}' is not one of: {one_of(known)}."
            raise SpecError.at(name.position, message)
        return source

    def sidecar(self, template: str) -> Mapping | None:
        """The defaults beside a template: `<algorithm>.yaml` in the template's folder.

        Where they extend another template's, they stand over those.
        """
        if template not in self._sidecars:
            self._sidecars[template] = None  # what it extends may not come back to it
            self._sidecars[template] = self._read_sidecar(template)
        return self._sidecars[template]

    def _read_sidecar(self, template: str) -> Mapping | None:
        name = template.removesuffix(_SUFFIX) + ".yaml"
        for folder in reversed(self.folders):
            if (folder.path / template).is_file():
                source = folder.file(name)
                if not source.path.is_file():
                    return None
                self.files[source.name] = source
                return self._extended(read_yaml(source))
        return None

    def _extended(self, own: Mapping) -> Mapping:
        kept = [entry for entry in own.entries if entry.key.text != _EXTENDS]
        extended = Mapping(own.position, tuple(kept))
        for base in reversed(self.extended_by(own)):
            extended = merge(base, extended)
        return extended

    def extended_by(self, node: Mapping) -> list[Mapping]:
        """The defaults that stand beside the templates its `extends` names: one, or a list."""
        extends = node.get(_EXTENDS)
        if extends is None:
            return []
        items = extends.items if isinstance(extends, Sequence) else (extends,)
        return [self._defaults(as_scalar(item, f"'{_EXTENDS}'")) for item in items]

    def _defaults(self, name: Scalar) -> Mapping:
        self.need(name)
        defaults = self.sidecar(name.text)
        if defaults is None:
            message = f"Template '{name.text}' has no defaults to extend."
            raise SpecError.at(name.position, message)
        return defaults


def merge(base: Mapping, over: Mapping) -> Mapping:
    """`base` with the entries of `over`; maps in both merge key by key, base's entries first."""
    merged: dict[str, Entry] = {entry.key.text: entry for entry in base.entries}
    for entry in over.entries:
        known = merged.get(entry.key.text)
        if known and isinstance(known.value, Mapping) and isinstance(entry.value, Mapping):
            entry = Entry(entry.key, merge(known.value, entry.value))
        merged[entry.key.text] = entry
    return Mapping(over.position, tuple(merged.values()))
