#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  ivec4 sizes = IVEC4(y_sizes);
  int count = sizes.x * sizes.z * sizes.w;
  int tiles = (count + 7) / 8;
  int rest = flat_index();
  int first = take(rest, tiles) * 8;
  int channel = rest * 8;
  if (channel >= sizes.y) return;

  int in_first = divide(channel, group_out) * group_in;
  int in_padded = (group_in + 3) / 4 * 4;
  int taps = window[0] * window[1];
  int next_block = taps * in_padded;
  int w = channel / 4 * next_block;
  int in_plane = x_sizes[2] * x_sizes[3];
  int in_blocks = blocks_of(x_sizes[1]);
  ivec3 pixel0 = pixel_at(first, sizes);
  ivec2 corner0 = pixel0.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 low0 = vec4(0.0);
  vec4 high0 = vec4(0.0);
  ivec3 pixel1 = next_pixel(pixel0, sizes);
  ivec2 corner1 = pixel1.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 low1 = vec4(0.0);
  vec4 high1 = vec4(0.0);
  ivec3 pixel2 = next_pixel(pixel1, sizes);
  ivec2 corner2 = pixel2.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 low2 = vec4(0.0);
  vec4 high2 = vec4(0.0);
  ivec3 pixel3 = next_pixel(pixel2, sizes);
  ivec2 corner3 = pixel3.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 low3 = vec4(0.0);
  vec4 high3 = vec4(0.0);
  ivec3 pixel4 = next_pixel(pixel3, sizes);
  ivec2 corner4 = pixel4.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 low4 = vec4(0.0);
  vec4 high4 = vec4(0.0);
  ivec3 pixel5 = next_pixel(pixel4, sizes);
  ivec2 corner5 = pixel5.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 low5 = vec4(0.0);
  vec4 high5 = vec4(0.0);
  ivec3 pixel6 = next_pixel(pixel5, sizes);
  ivec2 corner6 = pixel6.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 low6 = vec4(0.0);
  vec4 high6 = vec4(0.0);
  ivec3 pixel7 = next_pixel(pixel6, sizes);
  ivec2 corner7 = pixel7.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 low7 = vec4(0.0);
  vec4 high7 = vec4(0.0);
  ivec2 offset = ivec2(0);
  for (int tap = 0; tap < taps; tap++) {
    ivec2 at0 = corner0 + offset;
    bool inside0 = pixel0.x < sizes.x && at0.x >= 0 && at0.y >= 0 && at0.x < x_sizes[2] && at0.y < x_sizes[3];
    int x0 = inside0 ? (pixel0.x * x_sizes[1] + in_first) * in_plane + at0.x * x_sizes[3] + at0.y : 0;
    ivec2 at1 = corner1 + offset;
    bool inside1 = pixel1.x < sizes.x && at1.x >= 0 && at1.y >= 0 && at1.x < x_sizes[2] && at1.y < x_sizes[3];
    int x1 = inside1 ? (pixel1.x * x_sizes[1] + in_first) * in_plane + at1.x * x_sizes[3] + at1.y : 0;
    ivec2 at2 = corner2 + offset;
    bool inside2 = pixel2.x < sizes.x && at2.x >= 0 && at2.y >= 0 && at2.x < x_sizes[2] && at2.y < x_sizes[3];
    int x2 = inside2 ? (pixel2.x * x_sizes[1] + in_first) * in_plane + at2.x * x_sizes[3] + at2.y : 0;
    ivec2 at3 = corner3 + offset;
    bool inside3 = pixel3.x < sizes.x && at3.x >= 0 && at3.y >= 0 && at3.x < x_sizes[2] && at3.y < x_sizes[3];
    int x3 = inside3 ? (pixel3.x * x_sizes[1] + in_first) * in_plane + at3.x * x_sizes[3] + at3.y : 0;
    ivec2 at4 = corner4 + offset;
    bool inside4 = pixel4.x < sizes.x && at4.x >= 0 && at4.y >= 0 && at4.x < x_sizes[2] && at4.y < x_sizes[3];
    int x4 = inside4 ? (pixel4.x * x_sizes[1] + in_first) * in_plane + at4.x * x_sizes[3] + at4.y : 0;
    ivec2 at5 = corner5 + offset;
    bool inside5 = pixel5.x < sizes.x && at5.x >= 0 && at5.y >= 0 && at5.x < x_sizes[2] && at5.y < x_sizes[3];
    int x5 = inside5 ? (pixel5.x * x_sizes[1] + in_first) * in_plane + at5.x * x_sizes[3] + at5.y : 0;
    ivec2 at6 = corner6 + offset;
    bool inside6 = pixel6.x < sizes.x && at6.x >= 0 && at6.y >= 0 && at6.x < x_sizes[2] && at6.y < x_sizes[3];
    int x6 = inside6 ? (pixel6.x * x_sizes[1] + in_first) * in_plane + at6.x * x_sizes[3] + at6.y : 0;
    ivec2 at7 = corner7 + offset;
    bool inside7 = pixel7.x < sizes.x && at7.x >= 0 && at7.y >= 0 && at7.x < x_sizes[2] && at7.y < x_sizes[3];
    int x7 = inside7 ? (pixel7.x * x_sizes[1] + in_first) * in_plane + at7.x * x_sizes[3] + at7.y : 0;
    for (int c = 0; c < group_in; c++) {
      vec4 w_low = weight_at4(w + c);
      vec4 w_high = weight_at4(w + c + next_block);
      int step = c * in_plane;
      float v0 = x_at(x0 + step);
      v0 = inside0 ? v0 : 0.0;
      low0 += w_low * v0;
      high0 += w_high * v0;
      float v1 = x_at(x1 + step);
      v1 = inside1 ? v1 : 0.0;
      low1 += w_low * v1;
      high1 += w_high * v1;
      float v2 = x_at(x2 + step);
      v2 = inside2 ? v2 : 0.0;
      low2 += w_low * v2;
      high2 += w_high * v2;
      float v3 = x_at(x3 + step);
      v3 = inside3 ? v3 : 0.0;
      low3 += w_low * v3;
      high3 += w_high * v3;
      float v4 = x_at(x4 + step);
      v4 = inside4 ? v4 : 0.0;
      low4 += w_low * v4;
      high4 += w_high * v4;
      float v5 = x_at(x5 + step);
      v5 = inside5 ? v5 : 0.0;
      low5 += w_low * v5;
      high5 += w_high * v5;
      float v6 = x_at(x6 + step);
      v6 = inside6 ? v6 : 0.0;
      low6 += w_low * v6;
      high6 += w_high * v6;
      float v7 = x_at(x7 + step);
      v7 = inside7 ? v7 : 0.0;
      low7 += w_low * v7;
      high7 += w_high * v7;
    }
    w += in_padded;
    offset.y += dilation[1];
    if (offset.y == dilation[1] * window[1]) offset = ivec2(offset.x + dilation[0], 0);
  }
  // One copy of the epilogue: unrolled, it would be most of the module.
  vec4 low[8];
  vec4 high[8];
  low[0] = low0;
  high[0] = high0;
  low[1] = low1;
  high[1] = high1;
  low[2] = low2;
  high[2] = high2;
  low[3] = low3;
  high[3] = high3;
  low[4] = low4;
  high[4] = high4;
  low[5] = low5;
  high[5] = high5;
  low[6] = low6;
  high[6] = high6;
  low[7] = low7;
  high[7] = high7;
  ivec3 pixel = pixel0;
  for (int p = 0; p < 8; p++) {
    store(pixel, channel, low[p]);
    store(pixel, channel + 4, high[p]);
    pixel = next_pixel(pixel, sizes);
  }
}
