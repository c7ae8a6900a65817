#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  ivec4 sizes = IVEC4(y_sizes);
  int count = sizes.x * sizes.z * sizes.w;
  int tiles = (count + 7) / 8;
  int rest = flat_index();
  int first = unravel(rest, tiles) * 8;
  int channel = rest * 8;
  if (channel >= sizes.y) return;

  int in_first = divide(channel, group_out) * group_in;
  int in_padded = (group_in + 3) / 4 * 4;
  int taps = window[0] * window[1];
  int next_block = taps * in_padded;
  int w = channel / 4 * next_block;
  int in_plane = x_sizes[2] * x_sizes[3];
  int in_blocks = channel_blocks(x_sizes[1]);
  ivec3 pixel0 = pixel_coord(first, sizes);
  ivec2 corner0 = pixel0.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 low0 = vec4(0.0);
  vec4 high0 = vec4(0.0);
  ivec3 pixel1 = next_pixel_coord(pixel0, sizes);
  ivec2 corner1 = pixel1.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 low1 = vec4(0.0);
  vec4 high1 = vec4(0.0);
  ivec3 pixel2 = next_pixel_coord(pixel1, sizes);
  ivec2 corner2 = pixel2.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 low2 = vec4(0.0);
  vec4 high2 = vec4(0.0);
  ivec3 pixel3 = next_pixel_coord(pixel2, sizes);
  ivec2 corner3 = pixel3.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 low3 = vec4(0.0);
  vec4 high3 = vec4(0.0);
  ivec3 pixel4 = next_pixel_coord(pixel3, sizes);
  ivec2 corner4 = pixel4.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 low4 = vec4(0.0);
  vec4 high4 = vec4(0.0);
  ivec3 pixel5 = next_pixel_coord(pixel4, sizes);
  ivec2 corner5 = pixel5.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 low5 = vec4(0.0);
  vec4 high5 = vec4(0.0);
  ivec3 pixel6 = next_pixel_coord(pixel5, sizes);
  ivec2 corner6 = pixel6.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 low6 = vec4(0.0);
  vec4 high6 = vec4(0.0);
  ivec3 pixel7 = next_pixel_coord(pixel6, sizes);
  ivec2 corner7 = pixel7.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 low7 = vec4(0.0);
  vec4 high7 = vec4(0.0);
  ivec2 offset = ivec2(0);
  for (int tap = 0; tap < taps; tap++) {
    ivec2 at0 = corner0 + offset;
    ivec2 at1 = corner1 + offset;
    ivec2 at2 = corner2 + offset;
    ivec2 at3 = corner3 + offset;
    ivec2 at4 = corner4 + offset;
    ivec2 at5 = corner5 + offset;
    ivec2 at6 = corner6 + offset;
    ivec2 at7 = corner7 + offset;
    w += in_padded;
    offset.y += dilation[1];
    if (offset.y == dilation[1] * window[1]) offset = ivec2(offset.x + dilation[0], 0);
  }
  // Loop with one copy of the epilogue: unrolled, it would dominate the module size.
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
    pixel = next_pixel_coord(pixel, sizes);
  }
}
