#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float convert(float v) {
  return float(v);
}

void main() {
  int i = flat_index();
  ivec4 sizes = IVEC4(y_sizes);
  if (i >= texel_count(sizes)) return;
  ivec4 nchw = texel_nchw(i, sizes);
  int channels = min(sizes.y - nchw.y, 4);
  int plane = sizes.z * sizes.w;
  int first = dense_index(nchw, sizes);
  vec4 x = x_texel(texel_coord(nchw, sizes));
  
  for (int lane = 0; lane < channels; lane++) y_store(first + lane * plane, convert(x[lane]));
}
