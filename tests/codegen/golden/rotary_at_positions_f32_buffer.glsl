#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int row = i;
  int column = unravel(row, 2 * pairs);
  row = divide(row, inner);
  int s = unravel(row, steps);
  int position = clamp(position_count == 1 ? positions_load(0) + s : positions_load(s), 0, context - 1);
  int pair = interleaved != 0 ? column / 2 : column < pairs ? column : column - pairs;
  bool second = interleaved != 0 ? (column & 1) != 0 : column >= pairs;
  int step = interleaved != 0 ? 1 : pairs;
  float other = x_load(second ? i - step : i + step);
  float s_of_pair = sin_load(position * pairs + pair);
  return x_load(i) * cos_load(position * pairs + pair) + (second ? other : -other) * s_of_pair;
}

