#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int rest = i / 4;
  int k = take(rest, taps * words + 1);
  int own = rest * 4 + i % 4;
  int first = own * strides[0];
  int value = 0;
  if (k == taps * words) {
    for (int c = 0; c < (own < filters ? channels : 0); c++) {
      for (int tap = 0; tap < taps; tap++) value += weight_at(first + c * strides[1] + tap * strides[2]);
    }
  } else {
    int c = take(k, words) * 4;
    for (int lane = 0; lane < 4; lane++) {
      bool real = own < filters && c + lane < channels;
      int number = real ? weight_at(first + (c + lane) * strides[1] + k * strides[2]) : 0;
      value |= (number & 255) << 8 * lane;
    }
  }
  y_put(i, value);
}
