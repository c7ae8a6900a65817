#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  ivec4 sizes = PHASE_SIZES;
  int tiles = (sizes.x * sizes.z * sizes.w + 3) / 4;
  int rest = flat_index();
  int first = take(rest, tiles) * 4;
  ivec2 phase = take_phase(rest);
  int channel = rest * 8;
  if (channel >= sizes.y) return;

  int in_first = 0;
  int in_padded = (group_in + 3) / 4 * 4;
  int next_block = window[0] * window[1] * in_padded;
  int in_plane = x_sizes[2] * x_sizes[3];
  int in_blocks = blocks_of(group_in);
  ivec3 pixel0 = pixel_at(first, sizes);
  vec4 low0 = vec4(0.0);
  vec4 high0 = vec4(0.0);
  ivec3 pixel1 = next_pixel(pixel0, sizes);
  vec4 low1 = vec4(0.0);
  vec4 high1 = vec4(0.0);
  ivec3 pixel2 = next_pixel(pixel1, sizes);
  vec4 low2 = vec4(0.0);
  vec4 high2 = vec4(0.0);
  ivec3 pixel3 = next_pixel(pixel2, sizes);
  vec4 low3 = vec4(0.0);
  vec4 high3 = vec4(0.0);
  ivec2 origin;
  ivec2 tap = first_tap(phase, origin);
  ivec2 from = origin;
  for (int row = tap.x; row < window[0]; row += stride[0]) {
    from.y = origin.y;
    for (int column = tap.y; column < window[1]; column += stride[1]) {
      int w = channel / 4 * next_block + (row * window[1] + column) * in_padded;
      ivec2 at0 = pixel0.yz + from;
      ivec2 at1 = pixel1.yz + from;
      ivec2 at2 = pixel2.yz + from;
      ivec2 at3 = pixel3.yz + from;
      from.y--;
    }
    from.x--;
  }
  // One copy of what stores: unrolled, it would be most of the module.
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
    ivec3 place = place_of(pixel, phase);
    if (is_in_y(place)) {
      store(place, channel, low[p]);
      store(place, channel + 4, high[p]);
    }
    pixel = next_pixel(pixel, sizes);
  }
}
