#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  ivec4 sizes = IVEC4(y_sizes);
  int i = flat_index();
  if (i >= sizes.x * sizes.y * sizes.z * sizes.w) return;
  ivec4 nchw = dense_position(i, sizes);
  ivec2 corner = nchw.zw * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  int words = (group_in + 3) / 4;
  int plane = x_sizes[2] * x_sizes[3];
  int first = (nchw.x * x_sizes[1] + divide(nchw.y, group_out) * group_in) * plane;
  int w = nchw.y / 4 * (window[0] * window[1] * words + 1) * 4 + nchw.y % 4;
  int zero = HAS_ZEROS ? zeros_at(nchw.y) : 0;
  int sum = 0;
  for (int kh = 0; kh < window[0]; kh++) {
    for (int kw = 0; kw < window[1]; kw++, w += 4 * words) {
      ivec2 at = corner + ivec2(kh, kw) * ivec2(dilation[0], dilation[1]);
      bool inside = at.x >= 0 && at.y >= 0 && at.x < x_sizes[2] && at.y < x_sizes[3];
      int place = inside ? first + at.x * x_sizes[3] + at.y : 0;
      for (int c = 0; c < group_in; c++) {
        int filter_value = bitfieldExtract(weight_at(w + c / 4 * 4), c % 4 * 8, 8);
        int number = inside ? x_at(place + c * plane) : x_zero;
        sum += (number - x_zero) * (filter_value - zero);
      }
    }
  }
  y_put(i, finished(sum, nchw.y));
}
