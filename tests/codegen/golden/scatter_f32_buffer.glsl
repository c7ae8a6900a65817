#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float

TYPE value(int i) {
  TYPE total = x_flat(i, ivec4(x_shape[4], x_shape[5], x_shape[6], x_shape[7]));
  bool within = true;
  int own_target = 0;
  int index = 0;
  int index_stride = 1;
  int stride = 1;
  int src = 0;
  for (int d = 7; d >= 0; d--) {
    int at = unravel(i, x_shape[d]);
    if (d == axis) {
      own_target = at;
      index_stride = stride;
    } else {
      within = within && at < index_shape[d];
      index += at * stride;
      src += at * src_strides[d];
    }
    stride *= index_shape[d];
  }
  int scattered = 0;
  for (int k = 0; k < (within ? index_shape[axis] : 0); k++) {
    int target = index_load(index + k * index_stride);
    if ((target < 0 ? target + x_shape[axis] : target) != own_target) continue;
    TYPE v = src_load(src + k * src_strides[axis]);
    total = v;
    scattered++;
  }
  return total;
}

