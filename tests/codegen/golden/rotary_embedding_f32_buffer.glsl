#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int row = i;
  int at = take(row, 2 * pairs);
  int batch = row;
  int position = take(batch, positions);
  int head = take(batch, heads);
  int pair = interleaved != 0 ? at / 2 : at < pairs ? at : at - pairs;
  bool second = interleaved != 0 ? (at & 1) != 0 : at >= pairs;
  int step = interleaved != 0 ? 1 : pairs;
  int angle = batch * steps[0] + head * steps[1] + position * steps[2] + pair;
  float c = cos_at(angle);
  float s = sin_at(angle);
  float other = x_flat(second ? i - step : i + step, IVEC4(y_sizes));
  return x_flat(i, IVEC4(y_sizes)) * c + (second ? other : -other) * s;
}

