#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// The four signed bytes of a word.
ivec4 bytes_of(int word) { return ivec4(word << 24, word << 16, word << 8, word) >> 24; }

void main() {
  ivec4 sizes = IVEC4(y_sizes);
  int count = sizes.x * sizes.z * sizes.w;
  int rest = flat_index();
  int first = unravel(rest, (count + PIXELS - 1) / PIXELS) * PIXELS;
  int channel = rest * 4;
  if (channel >= sizes.y) return;

  int plane = x_sizes[2] * x_sizes[3];
  int w = rest * w_strides[0];
  ivec4 zeros = ivec4(0);
  if (HAS_ZEROS) {
    for (int lane = 0; lane < 4; lane++) zeros[lane] = zeros_load(min(channel + lane, sizes.y - 1));
  }
  ivec4 sums[4] = ivec4[](ivec4(0), ivec4(0), ivec4(0), ivec4(0));
  ivec3 corners[4];
  for (int p = 0; p < PIXELS; p++) {
    int i = min(first + p, count - 1);
    int column = unravel(i, sizes.w);
    int row = unravel(i, sizes.z);
    corners[p] = ivec3(window_origin(ivec2(row, column)), (i * ((sizes.y + 3) / 4) + rest) * plane);
  }
  for (int kh = 0; kh < window[0]; kh++) {
    for (int kw = 0; kw < window[1]; kw++, w += w_strides[1]) {
      ivec4 filters = bytes_of(weight_load(w)) - zeros;
      for (int p = 0; p < PIXELS; p++) {
        ivec2 at = corners[p].xy + tap_offset(ivec2(kh, kw));
        bool inside = is_in_x(at, ivec2(x_sizes[2], x_sizes[3]));
        int word = x_load(inside ? corners[p].z + at.x * x_sizes[3] + at.y : 0);
        sums[p] += inside ? (bytes_of(word) - x_zero) * filters : ivec4(0);
      }
    }
  }
  for (int p = 0; p < min(PIXELS, count - first); p++) {
    int i = first + p;
    int column = unravel(i, sizes.w);
    int row = unravel(i, sizes.z);
    for (int lane = 0; lane < min(4, sizes.y - channel); lane++) {
      y_store(dense_index(ivec4(i, channel + lane, row, column), sizes), finished(sums[p][lane], channel + lane));
    }
  }
}
