#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE int

int apply(TYPE x) {
  return abs(x);
}

ivec4 four(ivec4 x) {
  ivec4 y;
  for (int lane = 0; lane < 4; lane++) y[lane] = apply(x[lane]);  // a loop: a quarter of the module
  return y;
}

void main() {
  int i = flat_index();
  ivec4 sizes = IVEC4(y_sizes);
  if (i >= texel_count(sizes)) return;
  ivec4 nchw = texel_nchw(i, sizes);
  ivec3 place = texel_place(nchw, sizes);
  y_put_texel(place, four(x_texel(place)), sizes.y - nchw.y);
}
