#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float

TYPE value(int i) {
  TYPE total = x_flat(i, ivec4(x_shape[4], x_shape[5], x_shape[6], x_shape[7]));
  bool within = true;
  int mine = 0;
  int index = 0;
  int index_step = 1;
  int stride = 1;
  int src = 0;
  for (int d = 7; d >= 0; d--) {
    int at = take(i, x_shape[d]);
    if (d == axis) {
      mine = at;
      index_step = stride;
    } else {
      within = within && at < index_shape[d];
      index += at * stride;
      src += at * src_steps[d];
    }
    stride *= index_shape[d];
  }
  int came = 0;
  for (int k = 0; k < (within ? index_shape[axis] : 0); k++) {
    int place = index_at(index + k * index_step);
    if ((place < 0 ? place + x_shape[axis] : place) != mine) continue;
    TYPE v = src_at(src + k * src_steps[axis]);
    total = v;
    came++;
  }
  return total;
}

