#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int within = unravel(i, inner);
  int point = unravel(i, points);
  int index = i;
  {
    int at = 0;
    int rest = point;
    int stride = 1;
    for (int d = 3; d >= 0; d--) {
      int coord = unravel(rest, point_shape[d]);
      int extent = extents[0 + d];
      at += (extent == 1 ? 0 : coord) * stride;
      stride *= extent;
    }
    if (sizes[0] > 0) {
      int picked = index0_load(at);
      picked = clamp(picked < 0 ? picked + sizes[0] : picked, 0, sizes[0] - 1);
      index = index * sizes[0] + picked;
    }
  }
  {
    int at = 0;
    int rest = point;
    int stride = 1;
    for (int d = 3; d >= 0; d--) {
      int coord = unravel(rest, point_shape[d]);
      int extent = extents[4 + d];
      at += (extent == 1 ? 0 : coord) * stride;
      stride *= extent;
    }
    if (sizes[1] > 0) {
      int picked = index1_load(at);
      picked = clamp(picked < 0 ? picked + sizes[1] : picked, 0, sizes[1] - 1);
      index = index * sizes[1] + picked;
    }
  }
  {
    int at = 0;
    int rest = point;
    int stride = 1;
    for (int d = 3; d >= 0; d--) {
      int coord = unravel(rest, point_shape[d]);
      int extent = extents[8 + d];
      at += (extent == 1 ? 0 : coord) * stride;
      stride *= extent;
    }
    if (sizes[2] > 0) {
      int picked = index2_load(at);
      picked = clamp(picked < 0 ? picked + sizes[2] : picked, 0, sizes[2] - 1);
      index = index * sizes[2] + picked;
    }
  }
  return x_flat(index * inner + within, IVEC4(x_sizes));
}

