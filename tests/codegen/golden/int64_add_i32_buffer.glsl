#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define RESULT ivec2

RESULT combine(ivec2 a, ivec2 b) {
  return int64_add(a, b);
}

void main() {
  int i = flat_index();
  if (i >= n) return;
  int a = 0;
  int b = 0;
  int rest = i;
  for (int d = 7; d >= 0; d--) {
    int coord = unravel(rest, y_shape[d]);
    a += coord * a_strides[d];
    b += coord * b_strides[d];
  }
  RESULT y = combine(ivec2(a_load(2 * a), a_load(2 * a + 1)), ivec2(b_load(2 * b), b_load(2 * b + 1)));
  y_store(2 * i, y.x);
  y_store(2 * i + 1, y.y);
}
