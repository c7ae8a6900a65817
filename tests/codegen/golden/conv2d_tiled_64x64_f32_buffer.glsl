#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

shared vec4 weight_tile[16 * 17];  // [k][output channel / 4]; rows padded against bank conflicts
shared vec4 x_tile[16 * 16];  // [k][pixel / 4]

void main() {
  ivec4 sizes = IVEC4(y_sizes);
  int plane = sizes.z * sizes.w;
  int count = sizes.x * plane;
  int in_plane = x_sizes[2] * x_sizes[3];
  int lane = int(gl_LocalInvocationID.x);
  // Adjacent workgroups read the same pixels.
  int pixels = workgroup_index();
  int channel = unravel(pixels, (sizes.y + 63) / 64) * 64;
  pixels *= 64;

  // Loads per step: one pixel of input channels lane / 64, lane / 64 + 2, …; four output channels
  // of two input channels.
  int taps = window[0] * window[1];
  int in_padded = (group_in + 15) / 16 * 16;
  int quad = min(channel / 4 + lane / 8, (sizes.y + 7) / 8 * 2 - 1);
  int w = quad * taps * in_padded + lane % 8;
  ivec3 pixel = pixel_coord(min(pixels + lane % 64, count - 1), sizes);
  ivec2 corner = pixel.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  int image = pixel.x * x_sizes[1] * in_plane;
  ivec2 offset = ivec2(0);
  int c = 0;

  float x0;
  float x1;
  float x2;
  float x3;
  float x4;
  float x5;
  float x6;
  float x7;
  vec4 weight0, weight1;
    {
      ivec2 at = corner + offset;
      bool inside = at.x >= 0 && at.y >= 0 && at.x < x_sizes[2] && at.y < x_sizes[3];
      int x_index = image + (inside ? at.x * x_sizes[3] + at.y : 0);
      x0 = x_load(x_index + min(c + lane / 64 + 0, group_in - 1) * in_plane);
      x1 = x_load(x_index + min(c + lane / 64 + 2, group_in - 1) * in_plane);
      x2 = x_load(x_index + min(c + lane / 64 + 4, group_in - 1) * in_plane);
      x3 = x_load(x_index + min(c + lane / 64 + 6, group_in - 1) * in_plane);
      x4 = x_load(x_index + min(c + lane / 64 + 8, group_in - 1) * in_plane);
      x5 = x_load(x_index + min(c + lane / 64 + 10, group_in - 1) * in_plane);
      x6 = x_load(x_index + min(c + lane / 64 + 12, group_in - 1) * in_plane);
      x7 = x_load(x_index + min(c + lane / 64 + 14, group_in - 1) * in_plane);
      x0 = inside && c + lane / 64 + 0 < group_in ? x0 : 0.0;
      x1 = inside && c + lane / 64 + 2 < group_in ? x1 : 0.0;
      x2 = inside && c + lane / 64 + 4 < group_in ? x2 : 0.0;
      x3 = inside && c + lane / 64 + 6 < group_in ? x3 : 0.0;
      x4 = inside && c + lane / 64 + 8 < group_in ? x4 : 0.0;
      x5 = inside && c + lane / 64 + 10 < group_in ? x5 : 0.0;
      x6 = inside && c + lane / 64 + 12 < group_in ? x6 : 0.0;
      x7 = inside && c + lane / 64 + 14 < group_in ? x7 : 0.0;
      weight0 = weight_load4(w);
      weight1 = weight_load4(w + 8);
    }

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
  for (int step = taps * in_padded / 16; step > 0; step--) {
    barrier();
    x_tile[(lane / 64 + 0) * 16 + lane % 64 / 4][lane % 4] = x0;
    x_tile[(lane / 64 + 2) * 16 + lane % 64 / 4][lane % 4] = x1;
    x_tile[(lane / 64 + 4) * 16 + lane % 64 / 4][lane % 4] = x2;
    x_tile[(lane / 64 + 6) * 16 + lane % 64 / 4][lane % 4] = x3;
    x_tile[(lane / 64 + 8) * 16 + lane % 64 / 4][lane % 4] = x4;
    x_tile[(lane / 64 + 10) * 16 + lane % 64 / 4][lane % 4] = x5;
    x_tile[(lane / 64 + 12) * 16 + lane % 64 / 4][lane % 4] = x6;
    x_tile[(lane / 64 + 14) * 16 + lane % 64 / 4][lane % 4] = x7;
    weight_tile[lane % 8 * 17 + lane / 8] = weight0;
    weight_tile[(lane % 8 + 8) * 17 + lane / 8] = weight1;
    barrier();
    c += 16;
    if (c >= in_padded) {
      c = 0;
      offset.y += dilation[1];
      if (offset.y == dilation[1] * window[1]) offset = ivec2(offset.x + dilation[0], 0);
    }
    if (step > 1) {
      w += 16;
    {
      ivec2 at = corner + offset;
      bool inside = at.x >= 0 && at.y >= 0 && at.x < x_sizes[2] && at.y < x_sizes[3];
      int x_index = image + (inside ? at.x * x_sizes[3] + at.y : 0);
      x0 = x_load(x_index + min(c + lane / 64 + 0, group_in - 1) * in_plane);
      x1 = x_load(x_index + min(c + lane / 64 + 2, group_in - 1) * in_plane);
      x2 = x_load(x_index + min(c + lane / 64 + 4, group_in - 1) * in_plane);
      x3 = x_load(x_index + min(c + lane / 64 + 6, group_in - 1) * in_plane);
      x4 = x_load(x_index + min(c + lane / 64 + 8, group_in - 1) * in_plane);
      x5 = x_load(x_index + min(c + lane / 64 + 10, group_in - 1) * in_plane);
      x6 = x_load(x_index + min(c + lane / 64 + 12, group_in - 1) * in_plane);
      x7 = x_load(x_index + min(c + lane / 64 + 14, group_in - 1) * in_plane);
      x0 = inside && c + lane / 64 + 0 < group_in ? x0 : 0.0;
      x1 = inside && c + lane / 64 + 2 < group_in ? x1 : 0.0;
      x2 = inside && c + lane / 64 + 4 < group_in ? x2 : 0.0;
      x3 = inside && c + lane / 64 + 6 < group_in ? x3 : 0.0;
      x4 = inside && c + lane / 64 + 8 < group_in ? x4 : 0.0;
      x5 = inside && c + lane / 64 + 10 < group_in ? x5 : 0.0;
      x6 = inside && c + lane / 64 + 12 < group_in ? x6 : 0.0;
      x7 = inside && c + lane / 64 + 14 < group_in ? x7 : 0.0;
      weight0 = weight_load4(w);
      weight1 = weight_load4(w + 8);
    }

    }
    for (int s = 0; s < 16; s++) {
      vec4 b = x_tile[s * 16 + pixel_vec4];
      vec4 a0 = weight_tile[s * 17 + row_vec4];
      vec4 a1 = weight_tile[s * 17 + row_vec4 + 8];
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
  if (first >= count) return;
  ivec3 pixel0 = pixel_coord(first, sizes);
  ivec3 pixel1 = next_pixel_coord(pixel0, sizes);
  ivec3 pixel2 = next_pixel_coord(pixel1, sizes);
  ivec3 pixel3 = next_pixel_coord(pixel2, sizes);
  ivec4 output_indices = ivec4(pixel_index(pixel0, sizes), pixel_index(pixel1, sizes), pixel_index(pixel2, sizes), pixel_index(pixel3, sizes));
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
    if (o >= sizes.y) return;
    vec4 value = sums[r] + (has_bias != 0 ? bias_load(o) : 0.0);
    ivec4 at = output_indices + o * plane;
    value = finish4(value, min(at, ivec4(count * sizes.y - 1)));
    if (ALIGNED_4) {
      y_store4(at.x / 4, value);
    } else {
      for (int p = 0; p < min(4, count - first); p++) y_store(at[p], value[p]);
    }
  }
}
