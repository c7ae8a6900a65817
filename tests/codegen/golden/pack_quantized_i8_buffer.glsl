#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int rest = i / 128;
  int step = unravel(rest, steps);
  int row = rest * 32 + i / 4 % 32;
  int word = 0;
  for (int b = 0; b < 4; b += 1) {
    int byte_index = step * 16 + i % 4 * 4 + b;
    int value = row < rows && byte_index < bytes ? weight_load(row * bytes + byte_index) : padding;
    word |= (value & 255) << 8 * b;
  }
  y_store(i, word);
}
