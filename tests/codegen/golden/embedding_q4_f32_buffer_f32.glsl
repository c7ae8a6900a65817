#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int k = take(i, size);
  int row = index_at(i);
  row = clamp(row < 0 ? row + rows : row, 0, rows - 1);
  int word = weight_at(((row / 32 * steps + k / 32) * 32 + row % 32) * 4 + k / 8 % 4);
  int place = k % 8 ^ (LOW_FIRST ? 0 : 1);
  int number = bitfieldExtract(word, place * 4, 4);
  int group = row * row_step + k / GROUP * group_step;
  float v = float((number & 15) - 8) * scales_at(group);
  return HAS_OFFSETS ? v + offsets_at(group) : v;
}

