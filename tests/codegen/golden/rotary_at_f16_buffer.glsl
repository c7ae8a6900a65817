#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int row = i;
  int at = take(row, 2 * pairs);
  row = divide(row, inner);
  int s = take(row, steps);
  int position = clamp(given == 1 ? positions_at(0) + s : positions_at(s), 0, context - 1);
  int pair = interleaved != 0 ? at / 2 : at < pairs ? at : at - pairs;
  bool second = interleaved != 0 ? (at & 1) != 0 : at >= pairs;
  int step = interleaved != 0 ? 1 : pairs;
  float other = x_at(second ? i - step : i + step);
  float s_of_pair = sin_at(position * pairs + pair);
  return x_at(i) * cos_at(position * pairs + pair) + (second ? other : -other) * s_of_pair;
}

