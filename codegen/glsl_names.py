"""Names that GLSL does not leave to constants of a kernel."""

from __future__ import annotations

from codegen.errors import SpecError
from codegen.fields import check_name
from codegen.yaml_reader import Scalar

_WORDS = """
attribute const uniform varying buffer shared coherent volatile restrict readonly writeonly layout
centroid flat smooth noperspective patch sample invariant precise break continue do for while switch
case default if else subroutine in out inout true false lowp mediump highp precision struct discard
return void bool int uint float double atomic_uint
common partition active asm class union enum typedef template this resource goto inline noinline
public static extern external interface long short half fixed unsigned superp input output filter
sizeof cast namespace using main
"""
_TYPES = {f"{kind}vec{n}" for kind in ("", "b", "i", "u", "d") for n in (2, 3, 4)}
_MATRICES = {f"{kind}mat{n}" for kind in ("", "d") for n in (2, 3, 4)}
_TAKEN = frozenset(_WORDS.split()) | _TYPES | _MATRICES


def check_glsl_name(scalar: Scalar, what: str) -> str:
    """The scalar, which must be a name that a shader can declare."""
    name = check_name(scalar, what)
    if name in _TAKEN or name.startswith("gl_"):
        raise SpecError.at(scalar.position, f"{what} '{name}' is a word of GLSL; choose another.")
    return name
