#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int tile = i / 8;
  int k = unravel(tile, depth);
  int column = tile * 32 + i % 8 * 4;
  vec4 value = vec4(0.0);
  for (int lane = 0; lane < 4; lane++) {
    if (column + lane < rows) value[lane] = weight_load((column + lane) * depth + k);
  }
  y_store4(i, value);
}
