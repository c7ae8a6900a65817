#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int index) {
  ivec4 nchw = dense_coord(index, IVEC4(y_sizes));
  ivec2 corner = nchw.zw * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  int in_first = divide(nchw.y, group_out) * group_in;
  int w = nchw.y * group_in * window[0] * window[1];
  float sum = has_bias != 0 ? bias_load(nchw.y) : 0.0;
  for (int c = 0; c < group_in; c++) {
    for (int kh = 0; kh < window[0]; kh++) {
      for (int kw = 0; kw < window[1]; kw++, w++) {
        ivec2 at = corner + ivec2(kh, kw) * ivec2(dilation[0], dilation[1]);
        if (at.x < 0 || at.y < 0 || at.x >= x_sizes[2] || at.y >= x_sizes[3]) continue;
        sum += x_nchw(ivec4(nchw.x, in_first + c, at), IVEC4(x_sizes)) * weight_load(w);
      }
    }
  }
  return finish(sum, index);
}

