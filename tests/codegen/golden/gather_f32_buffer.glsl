#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int picked = index_load(i);
  int size = x_shape[axis];
  picked = clamp(picked < 0 ? picked + size : picked, 0, size - 1);
  int index = 0;
  int stride = 1;
  for (int d = 7; d >= 0; d--) {
    int at = unravel(i, y_shape[d]);
    index += (d == axis ? picked : at) * stride;
    stride *= x_shape[d];
  }
  return x_flat(index, ivec4(x_shape[4], x_shape[5], x_shape[6], x_shape[7]));
}

