#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  ivec4 sizes = IVEC4(y_sizes);
  int count = sizes.x * sizes.z * sizes.w;
  int tiles = (count + 3) / 4;
  int rest = flat_index();
  int first = take(rest, tiles) * 4;
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
  ivec2 offset = ivec2(0);
  for (int tap = 0; tap < taps; tap++) {
    ivec2 at0 = corner0 + offset;
    bool inside0 = pixel0.x < sizes.x && at0.x >= 0 && at0.y >= 0 && at0.x < x_sizes[2] && at0.y < x_sizes[3];
    ivec3 x0 = inside0 ? ivec3(at0.y, at0.x, pixel0.x * in_blocks + in_first / 4) : ivec3(0);
    ivec2 at1 = corner1 + offset;
    bool inside1 = pixel1.x < sizes.x && at1.x >= 0 && at1.y >= 0 && at1.x < x_sizes[2] && at1.y < x_sizes[3];
    ivec3 x1 = inside1 ? ivec3(at1.y, at1.x, pixel1.x * in_blocks + in_first / 4) : ivec3(0);
    ivec2 at2 = corner2 + offset;
    bool inside2 = pixel2.x < sizes.x && at2.x >= 0 && at2.y >= 0 && at2.x < x_sizes[2] && at2.y < x_sizes[3];
    ivec3 x2 = inside2 ? ivec3(at2.y, at2.x, pixel2.x * in_blocks + in_first / 4) : ivec3(0);
    ivec2 at3 = corner3 + offset;
    bool inside3 = pixel3.x < sizes.x && at3.x >= 0 && at3.y >= 0 && at3.x < x_sizes[2] && at3.y < x_sizes[3];
    ivec3 x3 = inside3 ? ivec3(at3.y, at3.x, pixel3.x * in_blocks + in_first / 4) : ivec3(0);
    for (int c = 0; c < group_in; c += 4) {
      ivec3 step = ivec3(0, 0, c / 4);
      vec4 v0 = x_texel(x0 + step);
      v0 = inside0 ? v0 : vec4(0.0);
      vec4 v1 = x_texel(x1 + step);
      v1 = inside1 ? v1 : vec4(0.0);
      vec4 v2 = x_texel(x2 + step);
      v2 = inside2 ? v2 : vec4(0.0);
      vec4 v3 = x_texel(x3 + step);
      v3 = inside3 ? v3 : vec4(0.0);
      vec4 w_low0 = weight_at4(w + c + 0);
      vec4 w_high0 = weight_at4(w + c + 0 + next_block);
      low0 += w_low0 * v0[0];
      high0 += w_high0 * v0[0];
      low1 += w_low0 * v1[0];
      high1 += w_high0 * v1[0];
      low2 += w_low0 * v2[0];
      high2 += w_high0 * v2[0];
      low3 += w_low0 * v3[0];
      high3 += w_high0 * v3[0];
      vec4 w_low1 = weight_at4(w + c + 1);
      vec4 w_high1 = weight_at4(w + c + 1 + next_block);
      low0 += w_low1 * v0[1];
      high0 += w_high1 * v0[1];
      low1 += w_low1 * v1[1];
      high1 += w_high1 * v1[1];
      low2 += w_low1 * v2[1];
      high2 += w_high1 * v2[1];
      low3 += w_low1 * v3[1];
      high3 += w_high1 * v3[1];
      vec4 w_low2 = weight_at4(w + c + 2);
      vec4 w_high2 = weight_at4(w + c + 2 + next_block);
      low0 += w_low2 * v0[2];
      high0 += w_high2 * v0[2];
      low1 += w_low2 * v1[2];
      high1 += w_high2 * v1[2];
      low2 += w_low2 * v2[2];
      high2 += w_high2 * v2[2];
      low3 += w_low2 * v3[2];
      high3 += w_high2 * v3[2];
      vec4 w_low3 = weight_at4(w + c + 3);
      vec4 w_high3 = weight_at4(w + c + 3 + next_block);
      low0 += w_low3 * v0[3];
      high0 += w_high3 * v0[3];
      low1 += w_low3 * v1[3];
      high1 += w_high3 * v1[3];
      low2 += w_low3 * v2[3];
      high2 += w_high3 * v2[3];
      low3 += w_low3 * v3[3];
      high3 += w_high3 * v3[3];
    }
    w += in_padded;
    offset.y += dilation[1];
    if (offset.y == dilation[1] * window[1]) offset = ivec2(offset.x + dilation[0], 0);
  }
  // One copy of the epilogue: unrolled, it would be most of the module.
  vec4 low[4];
  vec4 high[4];
  low[0] = low0;
  high[0] = high0;
  low[1] = low1;
  high[1] = high1;
  low[2] = low2;
  high[2] = high2;
  low[3] = low3;
  high[3] = high3;
  ivec3 pixel = pixel0;
  for (int p = 0; p < 4; p++) {
    store(pixel, channel, low[p]);
    store(pixel, channel + 4, high[p]);
    pixel = next_pixel(pixel, sizes);
  }
}
