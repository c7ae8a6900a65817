"""Directories of templates: templates, and their defaults in sidecar files."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from spec_model.errors import Position, SpecError, one_of
from spec_model.fields import as_scalar
from spec_model.yaml_reader import Entry, Mapping, Scalar, Sequence, SourceFile, read_yaml

_SUFFIX = ".glsl.j2"
_EXTENDS = "extends"
KERNEL_SET_SUFFIX = ".kernels.yaml"


@dataclass(frozen=True, slots=True)
class Directory:
    """A directory of specs or templates: its path, and its name in messages and products."""

    path: Path
    name: str

    def file(self, relative: str) -> SourceFile:
        """A file of the directory."""
        return SourceFile(self.path / relative, f"{self.name}/{relative}")

    def relative(self, path: Path) -> str:
        """The path of a file in the directory."""
        return path.relative_to(self.path).as_posix()

    def named(self, name: str) -> list[Path]:
        """The files of this name in the directory and its families (subdirectories)."""
        return [file for level in self._levels() if (file := level / name).is_file()]

    def ending(self, suffix: str) -> list[Path]:
        """The files with this suffix in the directory and its families, sorted."""
        files = (file for level in self._levels() for file in level.iterdir())
        return sorted(file for file in files if file.name.endswith(suffix))

    def _levels(self) -> list[Path]:
        return [self.path, *sorted(path for path in self.path.iterdir() if path.is_dir())]


@dataclass(slots=True)
class Templates:
    """Finds templates by name; later directories take precedence."""

    directories: Seq[Directory]
    _sidecars: dict[str, Mapping | None] = field(default_factory=dict)
    _kernel_sets: dict[str, Mapping] = field(default_factory=dict)
    _paths: dict[tuple[Directory, str], list[str]] = field(default_factory=dict)
    files: dict[str, SourceFile] = field(default_factory=dict)  # everything read so far

    def find(self, name: str) -> SourceFile | None:
        """The file of a template: `lib/prelude.glsl.j2`, or `unary.glsl.j2` of any family."""
        found = self._locate(name)
        if found is None:
            return None
        source = found[0].file(found[1])
        self.files[source.name] = source
        return source

    def _locate(self, name: str) -> tuple[Directory, str] | None:
        """The last directory with the template, and the template's path in it."""
        if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
            return None
        for directory in reversed(self.directories):
            if paths := self._paths_in(directory, name):
                return directory, paths[0]
        return None

    def _paths_in(self, directory: Directory, name: str) -> list[str]:
        """The paths of a template in a directory. Kernels name the same ones, and searching takes
        most of the time to load specs on Windows.
        """
        key = directory, name
        if key not in self._paths:
            self._paths[key] = _paths_in(directory, name)
        return self._paths[key]

    def need(self, name: Scalar) -> SourceFile:
        """The file of a kernel's template. Fails at the spec if it is missing or ambiguous."""
        source = self.find(name.text)
        if source is None or not name.text.endswith(_SUFFIX):
            known = sorted({p.name for f in self.directories for p in _templates_of(f)})
            message = f"Template '{name.text}' is not one of: {one_of(known)}."
            raise SpecError.at(name.position, message)
        for directory in self.directories:
            paths = self._paths_in(directory, name.text)
            if len(paths) > 1:
                message = (
                    f"Template '{name.text}' is in {directory.name} as {' and as '.join(paths)}."
                )
                raise SpecError.at(name.position, f"{message} Name it with its directory.")
        return source

    def kernel_set(self, name: Scalar) -> Mapping:
        """The file of a kernel set. Fails at the spec if it is missing."""
        found = self._locate(name.text + KERNEL_SET_SUFFIX)
        if found is None:
            sets = {p.name for f in self.directories for p in f.ending(KERNEL_SET_SUFFIX)}
            known = one_of(sorted(each.removesuffix(KERNEL_SET_SUFFIX) for each in sets))
            message = f"Kernel set '{name.text}' is not one of: {known}."
            raise SpecError.at(name.position, message)
        source = found[0].file(found[1])
        self.files[source.name] = source
        if source.name not in self._kernel_sets:
            self._kernel_sets[source.name] = read_yaml(source)
        return self._kernel_sets[source.name]

    def sidecar(self, template: str) -> Mapping | None:
        """The defaults of a template: `<algorithm>.yaml` in the template's directory.

        They override the defaults of the templates that they extend.
        """
        if template not in self._sidecars:
            self._sidecars[template] = None  # ends cyclic extension
            self._sidecars[template] = self._read_sidecar(template)
        return self._sidecars[template]

    def _read_sidecar(self, template: str) -> Mapping | None:
        found = self._locate(template)
        if found is None:
            return None
        source = found[0].file(found[1].removesuffix(_SUFFIX) + ".yaml")
        if not source.path.is_file():
            return None
        self.files[source.name] = source
        return self._extended(read_yaml(source))

    def _extended(self, own: Mapping) -> Mapping:
        kept = [entry for entry in own.entries if entry.key.text != _EXTENDS]
        extended = Mapping(own.position, tuple(kept))
        for base in reversed(self.extended_by(own)):
            extended = merge(base, extended)
        return extended

    def extended_by(self, node: Mapping) -> list[Mapping]:
        """The defaults of the templates that its key `extends` lists."""
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


def _paths_in(directory: Directory, name: str) -> list[str]:
    """The paths of a template: the name itself, or a file of this name in a family directory."""
    if (directory.path / name).is_file():
        return [name]
    if "/" in name:
        return []
    return [directory.relative(path) for path in directory.named(name) if path.parent.name != "lib"]


def _templates_of(directory: Directory) -> list[Path]:
    """The templates of kernels, in the directory and its family directories."""
    return [path for path in directory.ending(_SUFFIX) if path.parent.name != "lib"]


PACKAGE = Path(__file__).resolve().parent  # of the spec model: an input of everything generated
ROOT = PACKAGE.parent
BUILTIN_SPECS, BUILTIN_TEMPLATES = ROOT / "op_specs", ROOT / "templates" / "glsl"


def open_templates(directories: Iterable[str | Path], root: Path = ROOT) -> Templates:
    """The templates of several directories, named relative to `root`."""
    return Templates([named_directory(directory, root) for directory in directories])


def named_directory(path: str | Path, root: Path = ROOT) -> Directory:
    """The directory with a machine-independent name: relative to Spirloom or `root`, or its own."""
    full = Path(path).resolve()
    if not full.is_dir():
        raise SpecError.at(Position(str(path)), "Directory does not exist.")
    for base in (ROOT, root.resolve()):
        if full.is_relative_to(base):
            return Directory(full, full.relative_to(base).as_posix())
    return Directory(full, full.name)
