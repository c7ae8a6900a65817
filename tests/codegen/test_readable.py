"""Shaders as `spirloom op show` prints them: what main() does not use is left out."""

from __future__ import annotations

from codegen.readable import readable

GLSL = """\
#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#line 3 "a.glsl.j2"
layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = 3) const int UNUSED = 1;
layout(push_constant, std430) uniform PushBlock {
  int n;
};
layout(set = 0, binding = 0, std430) readonly buffer x_block { vec4 x_data[]; };
layout(set = 0, binding = 0, std430) readonly buffer x_words { uvec2 x_vec4s[]; };
layout(set = 0, binding = 1) uniform texture3D y_image;
uint seed = uint(n);
const float PI = 3.14, TAU = 2.0 * PI;
const uint TABLE[2] = uint[](
  0x1u,
  0x2u);
shared float partial[64];  // per lane
shared float rest[64];
#define LONG(a) \\
  helper(a)
#define UNUSED_MACRO 1
// Called by a macro; `dead` is not.
#line 9 "b.glsl.j2"
float helper(float v) { return v * PI; }


float dead(float v) {
  return v + float(TABLE[0]);
}
struct Pair { float a, b; };
struct Unused { float a; };
void main() {

  Pair p = Pair(LONG(1.0), x_data[0].x);  // not rest

  partial[0] = p.a;

}
"""

SHOWN = """\
#version 450
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
layout(constant_id = 3) const int UNUSED = 1;

layout(push_constant, std430) uniform PushBlock {
  int n;
};

layout(set = 0, binding = 0, std430) readonly buffer x_block { vec4 x_data[]; };
uint seed = uint(n);
const float PI = 3.14, TAU = 2.0 * PI;
shared float partial[64];  // per lane

#define LONG(a) \\
  helper(a)

// Called by a macro; `dead` is not.
float helper(float v) { return v * PI; }

struct Pair { float a, b; };

void main() {
  Pair p = Pair(LONG(1.0), x_data[0].x);  // not rest

  partial[0] = p.a;
}
"""


def test_unused_declarations_and_line_directives_are_left_out() -> None:
    assert readable(GLSL) == SHOWN


def test_the_result_stays_as_it_is() -> None:
    assert readable(SHOWN) == SHOWN
