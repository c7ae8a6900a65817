#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int column = unravel(i, size);
  int row = unravel(i, size);
  if (column - row != diagonal) return float(0);
  return x_flat(i * count + min(row, column), IVEC4(x_sizes));
}

