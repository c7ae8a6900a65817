#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int row = i;
  int column = unravel(row, 2 * pairs);
  int batch = row;
  int position = unravel(batch, positions);
  int head = unravel(batch, heads);
  int pair = interleaved != 0 ? column / 2 : column < pairs ? column : column - pairs;
  bool second = interleaved != 0 ? (column & 1) != 0 : column >= pairs;
  int step = interleaved != 0 ? 1 : pairs;
  int angle = batch * angle_strides[0] + head * angle_strides[1] + position * angle_strides[2] + pair;
  float c = cos_load(angle);
  float s = sin_load(angle);
  float other = x_flat(second ? i - step : i + step, IVEC4(y_sizes));
  return x_flat(i, IVEC4(y_sizes)) * c + (second ? other : -other) * s;
}

