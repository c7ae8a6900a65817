#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE int
#define FINISH(y) activate(y)

int combine(TYPE a, int b) {
  return a + b * alpha;
}

ivec4 four(ivec4 a, ivec4 b) {
  ivec4 y;
  for (int lane = 0; lane < 4; lane++) y[lane] = combine(a[lane], b[lane]);  // a loop: a quarter of the module
  return FINISH(y);
}


void main() {
  int i = flat_index();
  ivec4 sizes = ivec4(y_shape[4], y_shape[5], y_shape[6], y_shape[7]);
  if (i >= texel_count(sizes)) return;
  ivec4 nchw = texel_nchw(i, sizes);
  y_put_texel(texel_place(nchw, sizes), four(a_lanes(nchw, sizes.y), b_lanes(nchw, sizes.y)), sizes.y - nchw.y);
}
