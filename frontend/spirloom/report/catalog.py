"""The catalog of operators as a page: facts, kernels, variants, templates, GLSL, and statistics of
the shaders.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spirloom import __version__
from spirloom.errors import ImportFailure, reading
from spirloom.report.shader_statistics import Rows, find_statistics, read_statistics

if TYPE_CHECKING:
    from spec_model import Library
    from spec_model.spec import Kernel, Variant


def catalog_data(
    library: Library, ops: Sequence[str], pack: Path | None, statistics: Path | None
) -> dict[str, Any]:
    """The data of the page of some operators, or of all. The GLSL is that of every variant if
    operators are named, else of the first variant of each kernel. Raises ImportFailure.
    """
    from codegen.catalog import catalog

    facts = {each.op: each for each in catalog(library)}
    names = [_named(name, facts) for name in ops] or sorted(facts)
    modules = _modules(pack)
    columns, rows = _vendors(statistics)
    variants: dict[str, list[Variant]] = {}
    for variant in library.variants:
        variants.setdefault(variant.kernel.name, []).append(variant)
    glsl = _Glsl(library, everything=bool(ops))
    found: list[dict[str, Any]] = []
    templates: set[str] = set()
    for name in names:
        kernels = []
        for kernel in library.ops[name].kernels:
            own = list(_variants(variants.get(kernel.name, []), modules, rows, glsl))
            if own:
                kernels.append({**_kernel(kernel), "variants": own})
                templates.add(kernel.template)
        found.append({**_json(asdict(facts[name])), "kernels": kernels})
    return {
        "title": f"Operators of Spirloom {__version__}",
        "ops": found,
        "templates": {name: _template(library, name) for name in sorted(templates)},
        "vendors": columns,
        "nodes": [],
    }


def _named(name: str, known: Mapping[str, Any]) -> str:
    from codegen.select.filters import nearest

    for full in (name, f"aten.{name}", f"spirloom.{name}"):
        if full in known:
            return full
    short = [full for full, facts in known.items() if facts.short_name == name]
    if short:
        return short[0]
    raise ImportFailure(f"Operator '{name}' does not exist.{nearest(name, list(known)) or ''}")


def _json(value: Any) -> Any:
    """Tuples become lists and enumerations texts."""
    if isinstance(value, dict):
        return {key: _json(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_json(each) for each in value]
    return value if isinstance(value, int | float) or value is None else str(value)


def _kernel(kernel: Kernel) -> dict[str, Any]:
    return {
        "name": kernel.name,
        "template": kernel.template,
        "when": kernel.texts.get("when", ""),
        "prefer": kernel.texts.get("prefer", ""),
        "needs": sorted(map(str, kernel.needs)),
        "workgroup": "×".join(map(str, kernel.workgroup)),
        "portable": kernel.portable,
        "test_only": kernel.test_only,
    }


def _variants(
    variants: Sequence[Variant],
    modules: Mapping[str, tuple[int, int]],
    rows: Mapping[str, list[int | None]],
    glsl: _Glsl,
) -> Iterator[dict[str, Any]]:
    for i, variant in enumerate(variants):
        size, instructions = modules.get(variant.id, (None, None))
        yield {
            "id": variant.id,
            "bytes": size,
            "instructions": instructions,
            "vendors": rows.get(variant.id),
            "glsl": glsl.of(variant) if glsl.everything or i == 0 else None,
        }


class _Glsl:
    """Renders GLSL, without what main() does not use."""

    def __init__(self, library: Library, everything: bool) -> None:
        from codegen.render import Renderer

        self.everything = everything
        self._renderer = Renderer(library.templates, locate_params=False)

    def of(self, variant: Variant) -> str:
        from codegen.readable import readable

        return readable(self._renderer.render(variant).text)


def _template(library: Library, name: str) -> str:
    source = library.templates.find(name)
    return "" if source is None else source.path.read_text(encoding="utf-8")


def _modules(pack: Path | None) -> dict[str, tuple[int, int]]:
    """By variant: bytes and instructions of its module; empty without a pack."""
    from codegen.shader_pack import InvalidInputError, pack_modules
    from codegen.spirv_statistics import statistics
    from spirloom.runtime.native import find

    named = pack is not None
    if pack is None:
        files = find()
        if files is None:
            return {}
        pack = files.shaders
    found: dict[str, tuple[int, int]] = {}
    try:
        with reading(pack):
            for module, names in pack_modules(pack.read_bytes(), f"'{pack}'"):
                facts = (len(module), statistics(module)["instructions"])
                found.update(dict.fromkeys(names, facts))
    except (InvalidInputError, ValueError) as error:
        if not named:  # the wheel's pack is compressed, and zstandard is missing
            return {}
        raise ImportFailure(str(error)) from error
    return found


def _vendors(path: Path | None) -> tuple[list[str], Rows]:
    """The columns of the files of statistics, and the values by variant; empty without a file."""
    columns: list[str] = []
    values: Rows = {}
    for each in find_statistics() if path is None else [path]:
        names, rows = read_statistics(each)
        own = [i for i, name in enumerate(names) if name not in columns]
        for variant in values.keys() | rows.keys():
            row = rows.get(variant, [None] * len(names))
            before = values.get(variant, [None] * len(columns))
            values[variant] = [*before, *(row[i] for i in own)]
        columns += [names[i] for i in own]
    return columns, values
