#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  ivec4 sizes = IVEC4(x_sizes);
  ivec4 out_sizes = IVEC4(y_sizes);
  // The texels of y from the one with the first channel to the one with the last.
  int first_block = axis == 1 ? offset / 4 : 0;
  int blocks = axis == 1 ? (offset + sizes.y + 3) / 4 - first_block : blocks_of(sizes.y);
  ivec4 at = dense_position(i, ivec4(sizes.x, blocks, sizes.z, sizes.w));
  if (at.x >= sizes.x) return;
  ivec4 nchw = ivec4(at.x, (at.y + first_block) * 4, at.z, at.w);
  bvec4 texel;
  if (axis == 1) {
    texel = y_texel(texel_place(nchw, out_sizes));
    for (int lane = 0; lane < 4; lane++) {
      int c = nchw.y + lane - offset;
      if (c >= 0 && c < sizes.y) texel[lane] = tensors_nchw(ivec4(nchw.x, c, nchw.zw), sizes);
    }
  } else {
    texel = tensors_texel(texel_place(nchw, sizes));
    nchw[axis] += offset;
  }
  y_put_texel(texel_place(nchw, out_sizes), texel, out_sizes.y - nchw.y);
}
