#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_spirv_intrinsics : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  ivec4 sizes = IVEC4(y_sizes);
  int count = sizes.x * sizes.z * sizes.w;
  int rest = flat_index();
  int first = take(rest, (count + PIXELS - 1) / PIXELS) * PIXELS;
  int channel = rest * 4;
  if (channel >= sizes.y) return;

  int words = (group_in + 3) / 4;
  int plane = x_sizes[2] * x_sizes[3];
  int image = x_sizes[1] / max(group_in, 1) * words * plane;
  int group = divide(channel, group_out) * words * plane;
  int taps = window[0] * window[1];
  int w = rest * (taps * words + 1);
  // Outside are numbers that stand for 0.
  int outside = (x_zero & 255) * 0x01010101;
  ivec4 sums[4] = ivec4[](ivec4(0), ivec4(0), ivec4(0), ivec4(0));
  int totals[4] = int[](0, 0, 0, 0);
  ivec3 corners[4];
  for (int p = 0; p < PIXELS; p++) {
    int i = min(first + p, count - 1);
    int column = take(i, sizes.w);
    int row = take(i, sizes.z);
    corners[p] = ivec3(corner_of(ivec2(row, column)), i * image + group);
  }
  ivec2 offset = ivec2(0);
  for (int tap = 0; tap < taps; tap++) {
    bool inside[4];
    int places[4];
    for (int p = 0; p < PIXELS; p++) {
      ivec2 at = corners[p].xy + offset;
      inside[p] = is_in_x(at, ivec2(x_sizes[2], x_sizes[3]));
      places[p] = inside[p] ? corners[p].z + at.x * x_sizes[3] + at.y : 0;
    }
    for (int c = 0; c < words; c++, w++) {
      ivec4 filters = weight_at4(w);
      for (int p = 0; p < PIXELS; p++) {
        int word = inside[p] ? x_at(places[p]) : outside;
        places[p] += inside[p] ? plane : 0;
        for (int lane = 0; lane < 4; lane++) sums[p][lane] = dot4(word, filters[lane], sums[p][lane]);
        if (HAS_ZEROS) totals[p] = dot4(word, 0x01010101, totals[p]);
      }
    }
    offset.y += move[1];
    if (offset.y == move[1] * window[1]) offset = ivec2(offset.x + move[0], 0);
  }
  // What the zero point of x adds to the products: as much to all pixels.
  ivec4 more = x_zero * weight_at4(w);
  int most = 4 * taps * words * x_zero;
  for (int p = 0; p < min(PIXELS, count - first); p++) {
    int i = first + p;
    int column = take(i, sizes.w);
    int row = take(i, sizes.z);
    for (int lane = 0; lane < min(4, sizes.y - channel); lane++) {
      int sum = sums[p][lane] - more[lane];
      if (HAS_ZEROS) sum -= zeros_at(channel + lane) * (totals[p] - most);
      y_put(dense_index(ivec4(i, channel + lane, row, column), sizes), finished(sum, channel + lane));
    }
  }
}
