"""spirloom op show: the shader of a variant, as GLSL, as SPIR-V or as instruction counts."""

from __future__ import annotations

import argparse
import shutil
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spirloom.errors import ImportFailure, reading

if TYPE_CHECKING:
    from spec_model import Library
    from spec_model.spec import Variant

DESCRIPTION = """\
Prints the GLSL of a variant without #line directives and without functions, macros and buffers
that main() does not use.
"""
EPILOG = """\
examples:
  spirloom op show relu_f32_buffer                    GLSL
  spirloom op show relu_f32_buffer --stats            instructions by class
  spirloom op show relu_f32_buffer --spirv            disassembly; requires spirv-dis
  spirloom op show relu                               an error that lists the variants
  spirloom op show snake_f32_buffer --spec-dir op_specs --template-dir templates
"""
_SHOWN = 24


def add_parser(commands: Any) -> None:
    """Adds the subcommand."""
    parser = commands.add_parser(
        "show",
        help="print the shader of a variant",
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("variant", metavar="VARIANT", help="id of the variant: relu_f32_buffer")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--spirv", action="store_true", help="print the disassembly of the module")
    form.add_argument(
        "--stats", action="store_true", help="print the module's instructions by class"
    )
    parser.add_argument(
        "--pack",
        type=Path,
        metavar="FILE",
        help="shader pack with the module (default: of the wheel, or of build/release)",
    )
    for option, what in (("--spec-dir", "specs"), ("--template-dir", "templates")):
        parser.add_argument(
            option,
            type=Path,
            action="append",
            default=[],
            metavar="DIR",
            help=f"{what} in addition to the built-in ones; repeatable",
        )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Prints the shader."""
    from spec_model import SpecError

    try:
        library = load(tuple(arguments.spec_dir), tuple(arguments.template_dir))
        variant = find_variant(library, arguments.variant)
        if not (arguments.spirv or arguments.stats):
            print(glsl_of(library, variant), end="")
            return 0
    except SpecError as error:
        raise ImportFailure(*str(error).splitlines()) from error
    module = _module(variant, arguments.pack)
    if arguments.spirv:
        print(_disassembly(module), end="")
    else:
        print(_statistics(variant.id, module), end="")
    return 0


@cache
def load(spec_dirs: tuple[Path, ...], template_dirs: tuple[Path, ...]) -> Library:
    """The built-in operators and those of further directories."""
    from spec_model import load_library
    from spec_model.templates import BUILTIN_SPECS, BUILTIN_TEMPLATES

    templates = [BUILTIN_TEMPLATES, *template_dirs]
    return load_library([BUILTIN_SPECS, *spec_dirs], templates, Path.cwd())


def find_variant(library: Library, name: str) -> Variant:
    """The variant of this id. The error lists variants of an operator or kernel of this name, those
    that begin with it, or similar ones.
    """
    from codegen.select.filters import find, nearest

    variants = {variant.id: variant for variant in library.variants}
    if name in variants:
        return variants[name]
    found = [variant.id for _, own in find(library, name) for variant in own]
    found = found or [known for known in variants if known.startswith(name)]
    if found:
        rest = len(found) - _SHOWN
        more = [f"  and {rest} more"] if rest > 0 else []
        lines = [f"  {known}" for known in found[:_SHOWN]]
        raise ImportFailure(f"'{name}' is not one variant. Choose one of:", *lines, *more)
    hint = nearest(name, list(variants)) or " `spirloom op show OP` lists the variants of OP."
    raise ImportFailure(f"No variant, kernel or operator is named '{name}'.{hint}")


def glsl_of(library: Library, variant: Variant) -> str:
    """The variant's GLSL without what main() does not use."""
    from codegen.readable import readable
    from codegen.render import Renderer

    return readable(Renderer(library.templates, locate_params=False).render(variant).text)


def _module(variant: Variant, pack: Path | None) -> bytes:
    from codegen.shader_pack import InvalidInputError, module_of
    from spirloom.runtime.native import find

    if pack is None:
        files = find()
        if files is None:
            raise ImportFailure(
                "No shader pack was found. Build one with `./dev build`, or name it with --pack."
            )
        pack = files.shaders
    try:
        with reading(pack):
            module = module_of(pack.read_bytes(), variant.id, f"'{pack}'")
    except InvalidInputError as error:
        raise ImportFailure(str(error)) from error
    if module is None:
        why = (
            "only packs of tests contain its kernel"
            if variant.kernel.test_only
            else "it is older than the spec, or selects other variants"
        )
        raise ImportFailure(
            f"{pack} does not contain {variant.id}: {why}. Name another pack with --pack."
        )
    return module


def _disassembly(module: bytes) -> str:
    program = shutil.which("spirv-dis")
    if program is None:
        raise ImportFailure(
            "--spirv requires spirv-dis, which is not in PATH. Install it (apt-get install "
            "spirv-tools)."
        )
    done = subprocess.run([program, "-"], input=module, capture_output=True, check=False)
    if done.returncode != 0:
        raise ImportFailure(f"spirv-dis failed: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode()


def _statistics(name: str, module: bytes) -> str:
    from codegen.spirv_statistics import statistics

    try:
        counts = dict(statistics(module))
    except ValueError as error:
        raise ImportFailure(f"The module of {name} is not SPIR-V: {error}.") from error
    total = counts.pop("instructions")
    return f"{name}: {total} instructions, {len(module)} bytes\n" + _table(counts)


def _table(counts: Mapping[str, int]) -> str:
    width = max(map(len, counts), default=0)
    return "".join(f"  {what:{width}}  {count:5}\n" for what, count in counts.items())
