#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
// Position in x of position v of y.
float source_of(int v, float scale) { return align_corners != 0 ? float(v) * scale : (float(v) + 0.5) * scale - 0.5; }


float value(int i) {
  ivec4 nchw = dense_coord(i, IVEC4(y_sizes));
  ivec4 sizes = IVEC4(x_sizes);
  vec2 at = vec2(source_of(nchw.z, scale_h), source_of(nchw.w, scale_w));
  ivec2 low = ivec2(floor(at));
  vec4 weights_y = cubic_weights(at.x - float(low.x));
  vec4 weights_x = cubic_weights(at.y - float(low.y));
  float sum = 0.0;
  for (int r = 0; r < 4; r++) {
    float row = 0.0;
    for (int c = 0; c < 4; c++) {
      ivec2 tap = clamp(low + ivec2(r, c) - 1, ivec2(0), sizes.zw - 1);
      row += weights_x[c] * x_nchw(ivec4(nchw.xy, tap), sizes);
    }
    sum += weights_y[r] * row;
  }
  return sum;
}

