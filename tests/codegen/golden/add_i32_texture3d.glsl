#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE int
#define FINISH(y) activate(y)

int combine(TYPE a, TYPE b) {
  return a + b * TYPE(alpha);
}

ivec4 a_lanes(ivec4 nchw, int channels) {
  ivec4 varies = ivec4(notEqual(ivec4(a_strides[4], a_strides[5], a_strides[6], a_strides[7]), ivec4(0)));
  ivec4 sizes = ivec4(1, varies.y != 0 ? channels : 1, 1, 1);
  ivec4 texel = a_texel(texel_place(nchw * varies, sizes));
  return varies.y != 0 || channels == 1 ? texel : ivec4(texel.x);
}
ivec4 b_lanes(ivec4 nchw, int channels) {
  ivec4 varies = ivec4(notEqual(ivec4(b_strides[4], b_strides[5], b_strides[6], b_strides[7]), ivec4(0)));
  ivec4 sizes = ivec4(1, varies.y != 0 ? channels : 1, 1, 1);
  ivec4 texel = b_texel(texel_place(nchw * varies, sizes));
  return varies.y != 0 || channels == 1 ? texel : ivec4(texel.x);
}

void main() {
  int i = flat_index();
  ivec4 sizes = ivec4(y_shape[4], y_shape[5], y_shape[6], y_shape[7]);
  if (i >= texel_count(sizes)) return;
  ivec4 nchw = texel_nchw(i, sizes);
  ivec4 a = a_lanes(nchw, sizes.y);
  ivec4 b = b_lanes(nchw, sizes.y);
  ivec4 y = ivec4(combine(a.x, b.x), combine(a.y, b.y), combine(a.z, b.z), combine(a.w, b.w));
  y_put_texel(texel_place(nchw, sizes), FINISH(y), sizes.y - nchw.y);
}
