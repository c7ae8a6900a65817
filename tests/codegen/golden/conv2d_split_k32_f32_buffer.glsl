#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

shared vec4 partial[1024];  // [channel of 4][invocation]

void main() {
  ivec4 sizes = IVEC4(y_sizes);
  int plane = sizes.z * sizes.w;
  int count = sizes.x * plane;
  int lane = int(gl_LocalInvocationID.x);
  int block = workgroup_index();
  int tile = unravel(block, (count + 15) / 16);
  int sub_tile = lane % 8;
  int channel = block * 16 + sub_tile / 4 * 8;
  int first = tile * 16 + sub_tile % 4 * 4;

  int taps = window[0] * window[1];
  int in_padded = (group_in + 3) / 4 * 4;
  int next_quad = taps * in_padded;
  int w = min(channel, (sizes.y + 7) / 8 * 8 - 8) / 4 * next_quad;
  int in_plane = x_sizes[2] * x_sizes[3];
  ivec3 pixel0 = pixel_coord(first, sizes);
  ivec2 corner0 = pixel0.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  ivec3 pixel1 = next_pixel_coord(pixel0, sizes);
  ivec2 corner1 = pixel1.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  ivec3 pixel2 = next_pixel_coord(pixel1, sizes);
  ivec2 corner2 = pixel2.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  ivec3 pixel3 = next_pixel_coord(pixel2, sizes);
  ivec2 corner3 = pixel3.yz * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 sum0 = vec4(0.0);
  vec4 sum1 = vec4(0.0);
  vec4 sum2 = vec4(0.0);
  vec4 sum3 = vec4(0.0);
  vec4 sum4 = vec4(0.0);
  vec4 sum5 = vec4(0.0);
  vec4 sum6 = vec4(0.0);
  vec4 sum7 = vec4(0.0);
  ivec2 offset = ivec2(0);
  for (int tap = 0; tap < taps; tap++) {
    ivec2 at0 = corner0 + offset;
    bool inside0 = pixel0.x < sizes.x && at0.x >= 0 && at0.y >= 0 && at0.x < x_sizes[2] && at0.y < x_sizes[3];
    int x0 = inside0 ? pixel0.x * x_sizes[1] * in_plane + at0.x * x_sizes[3] + at0.y : 0;
    ivec2 at1 = corner1 + offset;
    bool inside1 = pixel1.x < sizes.x && at1.x >= 0 && at1.y >= 0 && at1.x < x_sizes[2] && at1.y < x_sizes[3];
    int x1 = inside1 ? pixel1.x * x_sizes[1] * in_plane + at1.x * x_sizes[3] + at1.y : 0;
    ivec2 at2 = corner2 + offset;
    bool inside2 = pixel2.x < sizes.x && at2.x >= 0 && at2.y >= 0 && at2.x < x_sizes[2] && at2.y < x_sizes[3];
    int x2 = inside2 ? pixel2.x * x_sizes[1] * in_plane + at2.x * x_sizes[3] + at2.y : 0;
    ivec2 at3 = corner3 + offset;
    bool inside3 = pixel3.x < sizes.x && at3.x >= 0 && at3.y >= 0 && at3.x < x_sizes[2] && at3.y < x_sizes[3];
    int x3 = inside3 ? pixel3.x * x_sizes[1] * in_plane + at3.x * x_sizes[3] + at3.y : 0;
    bvec4 inside = bvec4(inside0, inside1, inside2, inside3);
    for (int c = lane / 8; c < group_in; c += 32) {
      int step = c * in_plane;
      vec4 v = vec4(x_load(x0 + step), x_load(x1 + step), x_load(x2 + step), x_load(x3 + step));
      v = mix(vec4(0.0), v, inside);
      vec4 low = weight_load4(w + c);
      vec4 high = weight_load4(w + c + next_quad);
      sum0 += low[0] * v;
      sum1 += low[1] * v;
      sum2 += low[2] * v;
      sum3 += low[3] * v;
      sum4 += high[0] * v;
      sum5 += high[1] * v;
      sum6 += high[2] * v;
      sum7 += high[3] * v;
    }
    w += in_padded;
    offset.y += dilation[1];
    if (offset.y == dilation[1] * window[1]) offset = ivec2(offset.x + dilation[0], 0);
  }
  // Each invocation reduces and stores one channel of 4 pixels.
  vec4 value = vec4(0.0);
  partial[0 + lane] = sum0;
  partial[256 + lane] = sum1;
  partial[512 + lane] = sum2;
  partial[768 + lane] = sum3;
  barrier();
  if (lane / 32 == 0) {
    for (int group = 0; group < 32; group++) value += partial[lane % 32 / 8 * 256 + group * 8 + sub_tile];
  }
  barrier();
  partial[0 + lane] = sum4;
  partial[256 + lane] = sum5;
  partial[512 + lane] = sum6;
  partial[768 + lane] = sum7;
  barrier();
  if (lane / 32 == 1) {
    for (int group = 0; group < 32; group++) value += partial[lane % 32 / 8 * 256 + group * 8 + sub_tile];
  }
  channel += lane / 8;
  if (lane >= 64 || channel >= sizes.y || first >= count) return;
  value += has_bias != 0 ? bias_load(channel) : 0.0;
  ivec4 at = ivec4(pixel_index(pixel0, sizes), pixel_index(pixel1, sizes), pixel_index(pixel2, sizes), pixel_index(pixel3, sizes)) + channel * plane;
  value = finish4(value, min(at, ivec4(count * sizes.y - 1)));
  if (ALIGNED_4) {
    y_store4(at.x / 4, value);
  } else {
    for (int p = 0; p < min(4, count - first); p++) y_store(at[p], value[p]);
  }
}
