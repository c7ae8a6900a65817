#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// Per K slice: weights [k][output channel / 4], whose rows are padded against bank conflicts, then
// inputs [k][pixel / 4].
shared vec4 tiles[528];

void main() {
  int lane = int(gl_LocalInvocationID.x);
  int k_slice = 0;
  int weight_tile = k_slice * 528;
  int x_tile = weight_tile + 272;
  // Adjacent workgroups read the same pixels.
  int group = workgroup_index();
  int channel = unravel(group, (group_out + 63) / 64) * 64;
  int pixels = group;
  group = unravel(pixels, y_sizes[1] / group_out);
  pixels *= 64;
  channel += group * group_out;
  int channel_end = (group + 1) * group_out;
  int depth = group_in * window[0] * window[1] * window[2];
  // Loads per step: K indices lane / 64, lane / 64 + 2, … of one pixel; four K indices of two output
  // channels.
  set_pixel(pixels + lane % 64, group);
  int steps = (depth + 15) / 16;
  int first_step = k_slice * steps;
  int slice_taps = k_slice * 32;
  if (lane < 16) {
    for (int s = 0; s < 2; s++) set_taps(lane, slice_taps, first_step + s);
  }
  barrier();
  int weights0 = min(channel + lane / 4 + 0, channel_end - 1) * depth;
  vec4 weight0;
  int weights1 = min(channel + lane / 4 + 32, channel_end - 1) * depth;
  vec4 weight1;
  float x0;
  float x1;
  float x2;
  float x3;
  float x4;
  float x5;
  float x6;
  float x7;
  vec4 sum0 = vec4(0.0);
  vec4 sum1 = vec4(0.0);
  vec4 sum2 = vec4(0.0);
  vec4 sum3 = vec4(0.0);
  vec4 sum4 = vec4(0.0);
  vec4 sum5 = vec4(0.0);
  vec4 sum6 = vec4(0.0);
  vec4 sum7 = vec4(0.0);
  int pixel_vec4 = lane % 16;
  int row_vec4 = lane / 16;
  // The prologue loads are those of step -1: a second copy of the code would dominate the module
  // size.
  for (int s = -1; s < steps; s++) {
    if (s >= 0) {
      barrier();
      tiles[x_tile + (lane / 64 + 0) * 16 + lane % 64 / 4][lane % 4] = x0;
      tiles[x_tile + (lane / 64 + 2) * 16 + lane % 64 / 4][lane % 4] = x1;
      tiles[x_tile + (lane / 64 + 4) * 16 + lane % 64 / 4][lane % 4] = x2;
      tiles[x_tile + (lane / 64 + 6) * 16 + lane % 64 / 4][lane % 4] = x3;
      tiles[x_tile + (lane / 64 + 8) * 16 + lane % 64 / 4][lane % 4] = x4;
      tiles[x_tile + (lane / 64 + 10) * 16 + lane % 64 / 4][lane % 4] = x5;
      tiles[x_tile + (lane / 64 + 12) * 16 + lane % 64 / 4][lane % 4] = x6;
      tiles[x_tile + (lane / 64 + 14) * 16 + lane % 64 / 4][lane % 4] = x7;
      tiles[weight_tile + (lane % 4 * 4 + 0) * 17 + lane / 16 + 0][lane / 4 % 4] = weight0[0];
      tiles[weight_tile + (lane % 4 * 4 + 1) * 17 + lane / 16 + 0][lane / 4 % 4] = weight0[1];
      tiles[weight_tile + (lane % 4 * 4 + 2) * 17 + lane / 16 + 0][lane / 4 % 4] = weight0[2];
      tiles[weight_tile + (lane % 4 * 4 + 3) * 17 + lane / 16 + 0][lane / 4 % 4] = weight0[3];
      tiles[weight_tile + (lane % 4 * 4 + 0) * 17 + lane / 16 + 8][lane / 4 % 4] = weight1[0];
      tiles[weight_tile + (lane % 4 * 4 + 1) * 17 + lane / 16 + 8][lane / 4 % 4] = weight1[1];
      tiles[weight_tile + (lane % 4 * 4 + 2) * 17 + lane / 16 + 8][lane / 4 % 4] = weight1[2];
      tiles[weight_tile + (lane % 4 * 4 + 3) * 17 + lane / 16 + 8][lane / 4 % 4] = weight1[3];
      barrier();
      // Those of step s have been read before the barriers.
      if (lane < 16) set_taps(lane, slice_taps, first_step + s + 2);
    }
    if (s + 1 < steps) {
      int i0 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 16 + lane / 64 + 0]);
      x0 = x_load(max(i0, 0));
      x0 = i0 >= 0 ? x0 : 0.0;
      int i1 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 16 + lane / 64 + 2]);
      x1 = x_load(max(i1, 0));
      x1 = i1 >= 0 ? x1 : 0.0;
      int i2 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 16 + lane / 64 + 4]);
      x2 = x_load(max(i2, 0));
      x2 = i2 >= 0 ? x2 : 0.0;
      int i3 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 16 + lane / 64 + 6]);
      x3 = x_load(max(i3, 0));
      x3 = i3 >= 0 ? x3 : 0.0;
      int i4 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 16 + lane / 64 + 8]);
      x4 = x_load(max(i4, 0));
      x4 = i4 >= 0 ? x4 : 0.0;
      int i5 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 16 + lane / 64 + 10]);
      x5 = x_load(max(i5, 0));
      x5 = i5 >= 0 ? x5 : 0.0;
      int i6 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 16 + lane / 64 + 12]);
      x6 = x_load(max(i6, 0));
      x6 = i6 >= 0 ? x6 : 0.0;
      int i7 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 16 + lane / 64 + 14]);
      x7 = x_load(max(i7, 0));
      x7 = i7 >= 0 ? x7 : 0.0;
      int k = (first_step + s + 1) * 16 + lane % 4 * 4;
      if (WEIGHT_ALIGNED_4) {
        weight0 = weight_load4((weights0 + min(k, depth - 4)) / 4);
        weight0 = k < depth ? weight0 : vec4(0.0);
      } else {
        for (int e = 0; e < 4; e++) weight0[e] = k + e < depth ? weight_load(weights0 + min(k + e, depth - 1)) : 0.0;
      }
      if (WEIGHT_ALIGNED_4) {
        weight1 = weight_load4((weights1 + min(k, depth - 4)) / 4);
        weight1 = k < depth ? weight1 : vec4(0.0);
      } else {
        for (int e = 0; e < 4; e++) weight1[e] = k + e < depth ? weight_load(weights1 + min(k + e, depth - 1)) : 0.0;
      }
    }
    if (s < 0) continue;
    for (int k = 0; k < 16; k++) {
      vec4 b = tiles[x_tile + k * 16 + pixel_vec4];
      vec4 a0 = tiles[weight_tile + k * 17 + row_vec4];
      vec4 a1 = tiles[weight_tile + k * 17 + row_vec4 + 8];
      sum0 += a0[0] * b;
      sum1 += a0[1] * b;
      sum2 += a0[2] * b;
      sum3 += a0[3] * b;
      sum4 += a1[0] * b;
      sum5 += a1[1] * b;
      sum6 += a1[2] * b;
      sum7 += a1[3] * b;
    }
  }

  int first = pixels + pixel_vec4 * 4;
  int plane = y_sizes[3];
  int count = y_sizes[0] * plane;
  if (first >= count) return;
  ivec4 output_indices;
  for (int p = 0; p < 4; p++) {
    int image = min(first + p, count - 1);
    int within = unravel(image, plane);
    output_indices[p] = image * y_sizes[1] * plane + within;
  }
  // Loop with one copy of the epilogue: unrolled, it would dominate the module size.
  vec4 sums[8];
  sums[0] = sum0;
  sums[1] = sum1;
  sums[2] = sum2;
  sums[3] = sum3;
  sums[4] = sum4;
  sums[5] = sum5;
  sums[6] = sum6;
  sums[7] = sum7;
  for (int r = 0; r < 8; r++) {
    int o = channel + r / 4 * 32 + row_vec4 * 4 + r % 4;
    if (o >= channel_end) return;
    ivec4 at = output_indices + o * plane;
    vec4 value = finish4(sums[r] + (has_bias != 0 ? bias_load(o) : 0.0), at);
    if (ALIGNED_4) {
      y_store4(at.x / 4, value);
    } else {
      for (int p = 0; p < min(4, count - first); p++) y_store(at[p], value[p]);
    }
  }
}
