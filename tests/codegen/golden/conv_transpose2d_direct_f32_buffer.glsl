#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  ivec4 sizes = PHASE_SIZES;
  int tiles = (sizes.x * sizes.z * sizes.w + 7) / 8;
  int rest = flat_index();
  int first = unravel(rest, tiles) * 8;
  ivec2 phase = unravel_phase(rest);
  int channel = rest * 8;
  if (channel >= sizes.y) return;

  int in_first = 0;
  int in_padded = (group_in + 3) / 4 * 4;
  int next_block = window[0] * window[1] * in_padded;
  int in_plane = x_sizes[2] * x_sizes[3];
  int in_blocks = channel_blocks(group_in);
  ivec3 pixel0 = pixel_coord(first, sizes);
  vec4 low0 = vec4(0.0);
  vec4 high0 = vec4(0.0);
  ivec3 pixel1 = next_pixel_coord(pixel0, sizes);
  vec4 low1 = vec4(0.0);
  vec4 high1 = vec4(0.0);
  ivec3 pixel2 = next_pixel_coord(pixel1, sizes);
  vec4 low2 = vec4(0.0);
  vec4 high2 = vec4(0.0);
  ivec3 pixel3 = next_pixel_coord(pixel2, sizes);
  vec4 low3 = vec4(0.0);
  vec4 high3 = vec4(0.0);
  ivec3 pixel4 = next_pixel_coord(pixel3, sizes);
  vec4 low4 = vec4(0.0);
  vec4 high4 = vec4(0.0);
  ivec3 pixel5 = next_pixel_coord(pixel4, sizes);
  vec4 low5 = vec4(0.0);
  vec4 high5 = vec4(0.0);
  ivec3 pixel6 = next_pixel_coord(pixel5, sizes);
  vec4 low6 = vec4(0.0);
  vec4 high6 = vec4(0.0);
  ivec3 pixel7 = next_pixel_coord(pixel6, sizes);
  vec4 low7 = vec4(0.0);
  vec4 high7 = vec4(0.0);
  ivec2 origin;
  ivec2 tap = first_tap(phase, origin);
  ivec2 x_offset = origin;
  for (int row = tap.x; row < window[0]; row += stride[0]) {
    x_offset.y = origin.y;
    for (int column = tap.y; column < window[1]; column += stride[1]) {
      int w = channel / 4 * next_block + (row * window[1] + column) * in_padded;
      ivec2 at0 = pixel0.yz + x_offset;
      ivec2 at1 = pixel1.yz + x_offset;
      ivec2 at2 = pixel2.yz + x_offset;
      ivec2 at3 = pixel3.yz + x_offset;
      ivec2 at4 = pixel4.yz + x_offset;
      ivec2 at5 = pixel5.yz + x_offset;
      ivec2 at6 = pixel6.yz + x_offset;
      ivec2 at7 = pixel7.yz + x_offset;
      x_offset.y--;
    }
    x_offset.x--;
  }
  // Loop with one copy of the stores: unrolled, they would dominate the module size.
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
    ivec3 y_pixel = output_pixel(pixel, phase);
    if (is_in_y(y_pixel)) {
      store(y_pixel, channel, low[p]);
      store(y_pixel, channel + 4, high[p]);
    }
    pixel = next_pixel_coord(pixel, sizes);
  }
}
