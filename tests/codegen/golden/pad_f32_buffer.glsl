#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

int source;  // element of x in column 0 of its row

int inside(int at, int size) {
  switch (MODE) {
    case 0: at = abs(at); at = at < size ? at : 2 * (size - 1) - at; break;
    case 2: at += at < 0 ? size : 0; at -= at < size ? 0 : size; break;
  }
  return clamp(at, 0, size - 1);
}

void begin_row(int row) {
  source = 0;
  int stride = x_shape[7];
  for (int d = 6; d >= first; d--) {
    source += inside(unravel(row, y_shape[d]) - before[d], x_shape[d]) * stride;
    stride *= x_shape[d];
  }
  source += row * stride;
}

float element(int column) {
  return x_flat(source + inside(column - before[7], x_shape[7]), ivec4(x_shape[4], x_shape[5], x_shape[6], x_shape[7]));
}

