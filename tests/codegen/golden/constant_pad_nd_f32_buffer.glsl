#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

int source;       // element of x in column 0 of the row, if that is not padding
bool is_padding;  // the row

void begin_row(int row) {
  is_padding = false;
  source = 0;
  int stride = x_shape[7];
  for (int d = 6; d >= first; d--) {
    int at = unravel(row, y_shape[d]) - before[d];
    is_padding = is_padding || at < 0 || at >= x_shape[d];
    source += at * stride;
    stride *= x_shape[d];
  }
  source += row * stride;
}

float element(int column) {
  int at = column - before[7];
  if (is_padding || at < 0 || at >= x_shape[7]) return float(fill);
  return x_flat(source + at, ivec4(x_shape[4], x_shape[5], x_shape[6], x_shape[7]));
}

