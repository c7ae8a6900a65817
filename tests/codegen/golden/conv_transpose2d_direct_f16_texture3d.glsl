#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// The layer ends with its bias.
vec4 finish4(vec4 value, ivec4 at) { return value; }
vec4 finish_texel(vec4 value, ivec3 place) { return value; }

void main() {
  ivec4 sizes = IVEC4(y_sizes);
  // The pixels of a phase are an image of their own; those of some phases go beyond y, which `store` passes over.
  ivec4 phase_sizes = ivec4(sizes.xy, phase_size[0], phase_size[1]);
  int tiles = (sizes.x * phase_size[0] * phase_size[1] + 3) / 4;
  int rest = flat_index();
  int first = take(rest, tiles) * 4;
  ivec2 phase;
  phase.y = take(rest, stride[1]);
  phase.x = take(rest, stride[0]);
  int channel = rest * 8;
  if (channel >= sizes.y) return;

  // Of the taps every stride-th reaches the phase, each from one pixel of x further back.
  ivec2 origin = phase + ivec2(padding[0], padding[1]);
  ivec2 first_tap;
  first_tap.x = take(origin.x, stride[0]);
  first_tap.y = take(origin.y, stride[1]);

  int in_first = 0;
  int in_padded = (group_in + 3) / 4 * 4;
  int next_block = window[0] * window[1] * in_padded;
  int w_first = channel / 4 * next_block;
  int in_plane = x_sizes[2] * x_sizes[3];
  int in_blocks = blocks_of(group_in);
  ivec3 pixel0 = pixel_at(first, phase_sizes);
  vec4 low0 = vec4(0.0);
  vec4 high0 = vec4(0.0);
  ivec3 pixel1 = next_pixel(pixel0, phase_sizes);
  vec4 low1 = vec4(0.0);
  vec4 high1 = vec4(0.0);
  ivec3 pixel2 = next_pixel(pixel1, phase_sizes);
  vec4 low2 = vec4(0.0);
  vec4 high2 = vec4(0.0);
  ivec3 pixel3 = next_pixel(pixel2, phase_sizes);
  vec4 low3 = vec4(0.0);
  vec4 high3 = vec4(0.0);
  ivec2 from = origin;
  for (int row = first_tap.x; row < window[0]; row += stride[0]) {
    from.y = origin.y;
    for (int column = first_tap.y; column < window[1]; column += stride[1]) {
      int w = w_first + (row * window[1] + column) * in_padded;
      ivec2 at0 = pixel0.yz + from;
      ivec2 at1 = pixel1.yz + from;
      ivec2 at2 = pixel2.yz + from;
      ivec2 at3 = pixel3.yz + from;
      from.y--;
    }
    from.x--;
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
    ivec3 place = ivec3(pixel.x, pixel.yz * ivec2(stride[0], stride[1]) + phase);
    if (place.y < sizes.z && place.z < sizes.w) {
      store(place, channel, low[p]);
      store(place, channel + 4, high[p]);
    }
    pixel = next_pixel(pixel, phase_sizes);
  }
}
