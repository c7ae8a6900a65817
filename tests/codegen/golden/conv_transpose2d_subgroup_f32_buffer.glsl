#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require

void main() {
  ivec4 sizes = PHASE_SIZES;
  int block = cluster_index();
  int tile = unravel(block, (sizes.x * sizes.z * sizes.w + 31) / 32);
  int first = tile * 32 + cluster_lane() * 4;
  ivec2 phase = unravel_phase(block);
  int channel = block * 32;

  int x_stride = x_sizes[2] * x_sizes[3];
  ivec3 pixel0 = pixel_coord(first, sizes);
  ivec3 pixel1 = next_pixel_coord(pixel0, sizes);
  ivec3 pixel2 = next_pixel_coord(pixel1, sizes);
  ivec3 pixel3 = next_pixel_coord(pixel2, sizes);
  int in_padded = (group_in + 3) / 4 * 4;
  int next_quad = window[0] * window[1] * in_padded;
  int last_quad = (sizes.y + 7) / 8 * 2 - 1;
  // Drivers that unroll the loops below keep this array in registers.
  vec4 sums[32];
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
  float bias24 = has_bias != 0 ? bias_load(min(channel + 24 + cluster_lane(), sizes.y - 1)) : 0.0;
  sums[24] = vec4(from_lane(bias24, 0));
  sums[25] = vec4(from_lane(bias24, 1));
  sums[26] = vec4(from_lane(bias24, 2));
  sums[27] = vec4(from_lane(bias24, 3));
  sums[28] = vec4(from_lane(bias24, 4));
  sums[29] = vec4(from_lane(bias24, 5));
  sums[30] = vec4(from_lane(bias24, 6));
  sums[31] = vec4(from_lane(bias24, 7));

  ivec2 origin;
  ivec2 tap = first_tap(phase, origin);
  ivec2 x_offset = origin;
  for (int row = tap.x; row < window[0]; row += stride[0]) {
    x_offset.y = origin.y;
    for (int column = tap.y; column < window[1]; column += stride[1]) {
      int w = (row * window[1] + column) * in_padded + cluster_lane() % 4;
      int w0 = min(channel / 4 + 0 + cluster_lane() / 4, last_quad) * next_quad + w;
      int w2 = min(channel / 4 + 2 + cluster_lane() / 4, last_quad) * next_quad + w;
      int w4 = min(channel / 4 + 4 + cluster_lane() / 4, last_quad) * next_quad + w;
      int w6 = min(channel / 4 + 6 + cluster_lane() / 4, last_quad) * next_quad + w;
      ivec2 at0 = pixel0.yz + x_offset;
      bool inside0 = pixel0.x < sizes.x && at0.x >= 0 && at0.y >= 0 && at0.x < x_sizes[2] && at0.y < x_sizes[3];
      int x0 = inside0 ? pixel0.x * x_sizes[1] * x_stride + at0.x * x_sizes[3] + at0.y : 0;
      ivec2 at1 = pixel1.yz + x_offset;
      bool inside1 = pixel1.x < sizes.x && at1.x >= 0 && at1.y >= 0 && at1.x < x_sizes[2] && at1.y < x_sizes[3];
      int x1 = inside1 ? pixel1.x * x_sizes[1] * x_stride + at1.x * x_sizes[3] + at1.y : 0;
      ivec2 at2 = pixel2.yz + x_offset;
      bool inside2 = pixel2.x < sizes.x && at2.x >= 0 && at2.y >= 0 && at2.x < x_sizes[2] && at2.y < x_sizes[3];
      int x2 = inside2 ? pixel2.x * x_sizes[1] * x_stride + at2.x * x_sizes[3] + at2.y : 0;
      ivec2 at3 = pixel3.yz + x_offset;
      bool inside3 = pixel3.x < sizes.x && at3.x >= 0 && at3.y >= 0 && at3.x < x_sizes[2] && at3.y < x_sizes[3];
      int x3 = inside3 ? pixel3.x * x_sizes[1] * x_stride + at3.x * x_sizes[3] + at3.y : 0;
      bvec4 inside = bvec4(inside0, inside1, inside2, inside3);
      x_offset.y--;
    }
    x_offset.x--;
  }

  int plane = y_sizes[2] * y_sizes[3];
  ivec3 y_pixel0 = output_pixel(pixel0, phase);
  bool in_bounds0 = is_in_y(y_pixel0);
  int y0 = pixel_index(y_pixel0, IVEC4(y_sizes)) + channel * plane;
  ivec3 y_pixel1 = output_pixel(pixel1, phase);
  bool in_bounds1 = is_in_y(y_pixel1);
  int y1 = pixel_index(y_pixel1, IVEC4(y_sizes)) + channel * plane;
  ivec3 y_pixel2 = output_pixel(pixel2, phase);
  bool in_bounds2 = is_in_y(y_pixel2);
  int y2 = pixel_index(y_pixel2, IVEC4(y_sizes)) + channel * plane;
  ivec3 y_pixel3 = output_pixel(pixel3, phase);
  bool in_bounds3 = is_in_y(y_pixel3);
  int y3 = pixel_index(y_pixel3, IVEC4(y_sizes)) + channel * plane;
  for (int o = 0; o < min(32, sizes.y - channel); o++) {
    if (in_bounds0) y_store(y0, sums[o][0]);
    y0 += plane;
    if (in_bounds1) y_store(y1, sums[o][1]);
    y1 += plane;
    if (in_bounds2) y_store(y2, sums[o][2]);
    y2 += plane;
    if (in_bounds3) y_store(y3, sums[o][3]);
    y3 += plane;
  }
}
