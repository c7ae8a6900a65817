#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int within = unravel(i, inner);
  int x_row = divide(i, points);
  for (int d = 0; d < indexed; d++) {
    int at = index_load(i * indexed + d);
    x_row = x_row * sizes[d] + clamp(at < 0 ? at + sizes[d] : at, 0, sizes[d] - 1);
  }
  return x_flat(x_row * inner + within, IVEC4(x_sizes));
}

