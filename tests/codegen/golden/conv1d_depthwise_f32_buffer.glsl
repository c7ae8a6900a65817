#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// Channels `channel` to `channel` + 3 of a pixel of x; zero outside.
vec4 load(int image, int channel, ivec2 at) {
  bool inside = image < x_sizes[0] && at.x >= 0 && at.y >= 0 && at.x < x_sizes[2] && at.y < x_sizes[3];
  ivec4 sizes = IVEC4(x_sizes);
  ivec4 nchw = ivec4(image, channel, inside ? at : ivec2(0));
  if (!inside) nchw.x = 0;
  int plane = sizes.z * sizes.w;
  int first = dense_index(nchw, sizes);
  int last = sizes.y - 1 - channel;
  vec4 value = vec4(x_load(first), x_load(first + min(1, last) * plane), x_load(first + min(2, last) * plane), x_load(first + min(3, last) * plane));
  return inside ? value : vec4(0.0);
}

void main() {
  ivec4 sizes = IVEC4(y_sizes);
  int count = sizes.x * sizes.z * sizes.w;
  int tiles = (count + 3) / 4;
  int rest = flat_index();
  int first = unravel(rest, tiles) * 4;
  int channel = rest * 4;
  if (channel >= sizes.y) return;
  int taps = window[0] * window[1];
  ivec3 pixel0 = pixel_coord(first, sizes);
  ivec2 corner0 = pixel0.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 sum0 = vec4(0.0);
  ivec3 pixel1 = next_pixel_coord(pixel0, sizes);
  ivec2 corner1 = pixel1.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 sum1 = vec4(0.0);
  ivec3 pixel2 = next_pixel_coord(pixel1, sizes);
  ivec2 corner2 = pixel2.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 sum2 = vec4(0.0);
  ivec3 pixel3 = next_pixel_coord(pixel2, sizes);
  ivec2 corner3 = pixel3.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 sum3 = vec4(0.0);
  ivec2 offset = ivec2(0);
  for (int tap = 0; tap < taps; tap++) {
    vec4 w = weight_load4(channel / 4 * taps + tap);
    sum0 += w * load(pixel0.x, channel, corner0 + offset);
    sum1 += w * load(pixel1.x, channel, corner1 + offset);
    sum2 += w * load(pixel2.x, channel, corner2 + offset);
    sum3 += w * load(pixel3.x, channel, corner3 + offset);
    offset.y += dilation[1];
    if (offset.y == dilation[1] * window[1]) offset = ivec2(offset.x + dilation[0], 0);
  }
  // Loop with one copy of the epilogue: unrolled, it would dominate the module size.
  vec4 sums[4];
  sums[0] = sum0;
  sums[1] = sum1;
  sums[2] = sum2;
  sums[3] = sum3;
  ivec3 pixel = pixel0;
  for (int p = 0; p < 4; p++) {
    store(pixel, channel, sums[p]);
    pixel = next_pixel_coord(pixel, sizes);
  }
}
