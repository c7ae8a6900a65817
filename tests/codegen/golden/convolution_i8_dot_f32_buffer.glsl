#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_spirv_intrinsics : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  ivec4 sizes = IVEC4(y_sizes);
  int count = sizes.x * sizes.z * sizes.w;
  int rest = flat_index();
  int first = unravel(rest, (count + PIXELS - 1) / PIXELS) * PIXELS;
  int channel = rest * 4;
  if (channel >= sizes.y) return;

  int words = (group_in + 3) / 4;
  int plane = x_sizes[2] * x_sizes[3];
  int image = x_sizes[1] / max(group_in, 1) * words * plane;
  int group = divide(channel, group_out) * words * plane;
  int taps = window[0] * window[1];
  int w = rest * (taps * words + 1);
  // Padding value: the zero point of x in each byte.
  int padding_word = (x_zero & 255) * 0x01010101;
  ivec4 sums[4] = ivec4[](ivec4(0), ivec4(0), ivec4(0), ivec4(0));
  int x_sums[4] = int[](0, 0, 0, 0);
  ivec3 corners[4];
  for (int p = 0; p < PIXELS; p++) {
    int i = min(first + p, count - 1);
    int column = unravel(i, sizes.w);
    int row = unravel(i, sizes.z);
    corners[p] = ivec3(window_origin(ivec2(row, column)), i * image + group);
  }
  ivec2 offset = ivec2(0);
  for (int tap = 0; tap < taps; tap++) {
    bool inside[4];
    int x_indices[4];
    for (int p = 0; p < PIXELS; p++) {
      ivec2 at = corners[p].xy + offset;
      inside[p] = is_in_x(at, ivec2(x_sizes[2], x_sizes[3]));
      x_indices[p] = inside[p] ? corners[p].z + at.x * x_sizes[3] + at.y : 0;
    }
    for (int c = 0; c < words; c++, w++) {
      ivec4 filters = weight_load4(w);
      for (int p = 0; p < PIXELS; p++) {
        int word = inside[p] ? x_load(x_indices[p]) : padding_word;
        x_indices[p] += inside[p] ? plane : 0;
        for (int lane = 0; lane < 4; lane++) sums[p][lane] = dot4(word, filters[lane], sums[p][lane]);
        if (HAS_ZEROS) x_sums[p] = dot4(word, 0x01010101, x_sums[p]);
      }
    }
    offset.y += tap_stride[1];
    if (offset.y == tap_stride[1] * window[1]) offset = ivec2(offset.x + tap_stride[0], 0);
  }
  // Contribution of x's zero point to the dot products, equal for all pixels.
  ivec4 x_zero_terms = x_zero * weight_load4(w);
  int x_zero_sum = 4 * taps * words * x_zero;
  for (int p = 0; p < min(PIXELS, count - first); p++) {
    int i = first + p;
    int column = unravel(i, sizes.w);
    int row = unravel(i, sizes.z);
    for (int lane = 0; lane < min(4, sizes.y - channel); lane++) {
      int sum = sums[p][lane] - x_zero_terms[lane];
      if (HAS_ZEROS) sum -= zeros_load(channel + lane) * (x_sums[p] - x_zero_sum);
      y_store(dense_index(ivec4(i, channel + lane, row, column), sizes), finished(sum, channel + lane));
    }
  }
}
