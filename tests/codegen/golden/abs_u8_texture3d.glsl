#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE int

int apply(TYPE x) {
  return abs(x);
}

void main() {
  int i = flat_index();
  ivec4 sizes = IVEC4(y_sizes);
  if (i >= texel_count(sizes)) return;
  ivec4 nchw = texel_nchw(i, sizes);
  ivec3 place = texel_place(nchw, sizes);
  ivec4 x = x_texel(place);
  ivec4 y;
  for (int lane = 0; lane < 4; lane++) y[lane] = apply(x[lane]);
  y_put_texel(place, y, sizes.y - nchw.y);
}
