#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int k = unravel(i, size);
  int row = index_load(i);
  row = clamp(row < 0 ? row + rows : row, 0, rows - 1);
  return weight_load((row / 32 * size + k) * 32 + row % 32);
}

