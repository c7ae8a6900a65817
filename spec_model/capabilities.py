"""Device features and limits that shaders require: the rows of capabilities.inc."""

from __future__ import annotations

from spec_model.table import rows

# Name → the GLSL extensions that declare the capability, in the order of bits.
CAPABILITY_EXTENSIONS: dict[str, tuple[str, ...]] = {
    row["name"]: tuple(row["extensions"].split())
    for row in rows("capabilities.inc", "SPIRLOOM_CAPABILITY")
}
