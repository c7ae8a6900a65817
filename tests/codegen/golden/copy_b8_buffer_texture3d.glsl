#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

bool convert(bool v) {
  return v;
}

void main() {
  int i = flat_index();
  ivec4 sizes = IVEC4(y_sizes);
  if (i >= texel_count(sizes)) return;
  ivec4 nchw = texel_nchw(i, sizes);
  int channels = min(sizes.y - nchw.y, 4);
  int plane = sizes.z * sizes.w;
  int first = dense_index(nchw, sizes);
  bvec4 x = bvec4(0);
  for (int lane = 0; lane < channels; lane++) x[lane] = x_at(first + lane * plane);
  y_put_texel(texel_place(nchw, sizes), bvec4(convert(x.x), convert(x.y), convert(x.z), convert(x.w)), channels);
}
