#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int rest = i;
  int pixel = unravel(rest, plane);
  int c = unravel(rest, words) * 4;
  int word = 0;
  for (int lane = 0; lane < 4; lane++) {
    int x_index = (rest * channels + min(c + lane, channels - 1)) * plane + pixel;
    int value = c + lane < channels ? x_load(x_index) : zero;
    word |= (value & 255) << 8 * lane;
  }
  y_store(i, word);
}
