#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  ivec2 y = int64_trunc(x_load(i));
  y_store(2 * i, y.x);
  y_store(2 * i + 1, y.y);
}
