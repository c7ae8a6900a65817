#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int rest = i;
  int place = take(rest, plane);
  int c = take(rest, words) * 4;
  int word = 0;
  for (int lane = 0; lane < 4; lane++) {
    int at = (rest * channels + min(c + lane, channels - 1)) * plane + place;
    int value = c + lane < channels ? x_at(at) : zero;
    word |= (value & 255) << 8 * lane;
  }
  y_put(i, word);
}
