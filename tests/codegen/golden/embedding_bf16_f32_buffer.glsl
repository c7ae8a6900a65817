#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require


float value(int i) {
  int k = unravel(i, size);
  int row = index_load(i);
  row = clamp(row < 0 ? row + rows : row, 0, rows - 1);
  int word = weight_load(((row / 32 * steps + k / 8) * 32 + row % 32) * 4 + k / 2 % 4);
  return uintBitsToFloat(uint(word) >> k % 2 * 16 << 16);
}

