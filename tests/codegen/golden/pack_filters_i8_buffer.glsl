#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int rest = i / 4;
  int k = unravel(rest, taps * words + 1);
  int filter_index = rest * 4 + i % 4;
  int first = filter_index * strides[0];
  int value = 0;
  if (k == taps * words) {
    for (int c = 0; c < (filter_index < filters ? channels : 0); c++) {
      for (int tap = 0; tap < taps; tap++) value += weight_load(first + c * strides[1] + tap * strides[2]);
    }
  } else {
    int c = unravel(k, words) * 4;
    for (int lane = 0; lane < 4; lane++) {
      bool is_valid = filter_index < filters && c + lane < channels;
      int weight = is_valid ? weight_load(first + (c + lane) * strides[1] + k * strides[2]) : 0;
      value |= (weight & 255) << 8 * lane;
    }
  }
  y_store(i, value);
}
