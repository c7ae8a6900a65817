#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  ivec4 nchw = dense_position(i, IVEC4(y_sizes));
  ivec4 sizes = IVEC4(x_sizes);
  vec2 scale = vec2(scale_h, scale_w);
  vec2 at = max(align_corners != 0 ? vec2(nchw.zw) * scale : (vec2(nchw.zw) + 0.5) * scale - 0.5, vec2(0.0));
  ivec2 low = min(ivec2(at), sizes.zw - 1);
  ivec2 high = min(low + 1, sizes.zw - 1);
  vec2 part = at - vec2(low);
  float top = mix(x_nchw(ivec4(nchw.xy, low), sizes), x_nchw(ivec4(nchw.xy, low.x, high.y), sizes), part.y);
  float bottom = mix(x_nchw(ivec4(nchw.xy, high.x, low.y), sizes), x_nchw(ivec4(nchw.xy, high), sizes), part.y);
  return mix(top, bottom, part.x);
}

