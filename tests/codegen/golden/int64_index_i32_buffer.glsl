#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  ivec2 v = ivec2(x_load(2 * i), x_load(2 * i + 1));
  y_store(i, int64_fits(v) ? v.x : v.y < 0 ? 0x80000000 : 0x7fffffff);
}
