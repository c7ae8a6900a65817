#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

bool is_kept(int row, int column) {
  return column - row <= diagonal;
}

float value(int i) {
  int rest = i;
  int column = unravel(rest, y_sizes[3]);
  int row = unravel(rest, y_sizes[2]);
  float v = x_flat(i, IVEC4(y_sizes));
  return is_kept(row, column) ? v : float(0);
}

