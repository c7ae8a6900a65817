#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float

TYPE combine(TYPE total, TYPE v, int scattered) {
  return v;
}

TYPE finish(TYPE total, int scattered) {
  return total;
}

TYPE value(int i) {
  TYPE total = x_flat(i, ivec4(x_shape[4], x_shape[5], x_shape[6], x_shape[7]));
  PointRange at = points_of(i);
  int scattered = 0;
  for (int k = 0; k < (at.within ? index_shape[axis] : 0); k++) {
    int target = index_load(at.index + k * at.index_stride);
    if ((target < 0 ? target + x_shape[axis] : target) != at.target) continue;
    TYPE v = src_load(at.src + k * at.src_stride);
    total = combine(total, v, scattered);
    scattered++;
  }
  return finish(total, scattered);
}

