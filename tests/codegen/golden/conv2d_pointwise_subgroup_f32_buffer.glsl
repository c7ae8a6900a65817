#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require

void main() {
  ivec4 sizes = IVEC4(y_sizes);
  int plane = sizes.z * sizes.w;
  int count = sizes.x * plane;
  int tiles = (count + 31) / 32;
  int block = cluster_index();
  int tile = unravel(block, tiles);
  int channel = block * 24;
  int first = tile * 32 + cluster_lane() * 4;

  int image = first;
  int within = unravel(image, plane);
  int x_first = first < count ? (image * group_in * plane + within) / 4 : 0;
  int x_stride = plane / 4;
  int in_padded = (group_in + 3) / 4 * 4;
  int next_quad = in_padded;
  int last_quad = (sizes.y + 7) / 8 * 2 - 1;
  int w0 = min(channel / 4 + 0 + cluster_lane() / 4, last_quad) * next_quad + cluster_lane() % 4;
  int w2 = min(channel / 4 + 2 + cluster_lane() / 4, last_quad) * next_quad + cluster_lane() % 4;
  int w4 = min(channel / 4 + 4 + cluster_lane() / 4, last_quad) * next_quad + cluster_lane() % 4;
  // Drivers that unroll the loops below keep this array in registers.
  vec4 sums[24];
  float bias0 = has_bias != 0 ? bias_load(min(channel + 0 + cluster_lane(), sizes.y - 1)) : 0.0;
  sums[0] = vec4(from_lane(bias0, 0));
  sums[1] = vec4(from_lane(bias0, 1));
  sums[2] = vec4(from_lane(bias0, 2));
  sums[3] = vec4(from_lane(bias0, 3));
  sums[4] = vec4(from_lane(bias0, 4));
  sums[5] = vec4(from_lane(bias0, 5));
  sums[6] = vec4(from_lane(bias0, 6));
  sums[7] = vec4(from_lane(bias0, 7));
  float bias8 = has_bias != 0 ? bias_load(min(channel + 8 + cluster_lane(), sizes.y - 1)) : 0.0;
  sums[8] = vec4(from_lane(bias8, 0));
  sums[9] = vec4(from_lane(bias8, 1));
  sums[10] = vec4(from_lane(bias8, 2));
  sums[11] = vec4(from_lane(bias8, 3));
  sums[12] = vec4(from_lane(bias8, 4));
  sums[13] = vec4(from_lane(bias8, 5));
  sums[14] = vec4(from_lane(bias8, 6));
  sums[15] = vec4(from_lane(bias8, 7));
  float bias16 = has_bias != 0 ? bias_load(min(channel + 16 + cluster_lane(), sizes.y - 1)) : 0.0;
  sums[16] = vec4(from_lane(bias16, 0));
  sums[17] = vec4(from_lane(bias16, 1));
  sums[18] = vec4(from_lane(bias16, 2));
  sums[19] = vec4(from_lane(bias16, 3));
  sums[20] = vec4(from_lane(bias16, 4));
  sums[21] = vec4(from_lane(bias16, 5));
  sums[22] = vec4(from_lane(bias16, 6));
  sums[23] = vec4(from_lane(bias16, 7));


  int at = ((image * sizes.y + channel) * plane + within) / 4;
  int y_stride = plane / 4;
  int last = sizes.x * sizes.y * y_stride - 1;
  // A loop: software devices skip loops without active lanes, but execute both sides of a branch.
  for (int once = 0; once < has_addend; once++) {
    for (int o = 0; o < 24; o++) sums[o] += addend_load4(min(at + o * y_stride, last));
  }
  if (first >= count) return;
  for (int o = 0; o < min(24, sizes.y - channel); o++) {
    vec4 value = activate(sums[o]);
    y_store4(at, value);
    at += y_stride;
  }
}
