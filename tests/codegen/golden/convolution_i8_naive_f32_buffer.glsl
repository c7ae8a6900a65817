#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int rest = i;
  ivec3 corner;
  for (int d = 2; d >= 0; d--) corner[d] = unravel(rest, y_space[d]);
  corner = window_origin(corner);
  int channel = unravel(rest, filters);
  ivec3 size = ivec3(x_space[0], x_space[1], x_space[2]);
  int words = (group_in + 3) / 4;
  int plane = size.x * size.y * size.z;
  int first = (rest * channels + divide(channel, group_out) * group_in) * plane;
  int taps = window[0] * window[1] * window[2];
  int w = channel / 4 * (taps * words + 1) * 4 + channel % 4;
  int zero = HAS_ZEROS ? zeros_load(channel) : 0;
  int sum = 0;
  for (int kd = 0; kd < window[0]; kd++) {
    for (int kh = 0; kh < window[1]; kh++) {
      for (int kw = 0; kw < window[2]; kw++, w += 4 * words) {
        ivec3 at = corner + tap_offset(ivec3(kd, kh, kw));
        if (!is_in_x(at, size)) continue;
        int x_index = first + (at.x * size.y + at.y) * size.z + at.z;
        for (int c = 0; c < group_in; c++) {
          int filter_value = bitfieldExtract(weight_load(w + c / 4 * 4), c % 4 * 8, 8);
          sum += (x_load(x_index + c * plane) - x_zero) * (filter_value - zero);
        }
      }
    }
  }
  y_store(i, finished(sum, channel));
}
