#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

int inside(int at, int size) {
  switch (MODE) {
    case 0: at = abs(at); at = at < size ? at : 2 * (size - 1) - at; break;
    case 2: at += at < 0 ? size : 0; at -= at < size ? 0 : size; break;
  }
  return clamp(at, 0, size - 1);
}

float value(int i) {
  int index = 0;
  int stride = 1;
  for (int d = 7; d >= 0; d--) {
    index += inside(unravel(i, y_shape[d]) - before[d], x_shape[d]) * stride;
    stride *= x_shape[d];
  }
  return x_flat(index, ivec4(x_shape[4], x_shape[5], x_shape[6], x_shape[7]));
}

