#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int row = i;
  int at = take(row, 2 * pairs);
  int position = row;
  position = take(position, positions);
  int pair = interleaved != 0 ? at / 2 : at < pairs ? at : at - pairs;
  bool second = interleaved != 0 ? (at & 1) != 0 : at >= pairs;
  int step = interleaved != 0 ? 1 : pairs;
  float c = cos_at(position * pairs + pair);
  float s = sin_at(position * pairs + pair);
  float other = x_flat(second ? i - step : i + step, IVEC4(y_sizes));
  return x_flat(i, IVEC4(y_sizes)) * c + (second ? other : -other) * s;
}

