#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require

void main() {
  ivec4 sizes = PHASE_SIZES;
  int block = cluster_number();
  int tile = take(block, (sizes.x * sizes.z * sizes.w + 31) / 32);
  int first = tile * 32 + cluster_lane() * 4;
  ivec2 phase = take_phase(block);
  int channel = block * 32;

  int x_step = x_sizes[2] * x_sizes[3];
  ivec3 pixel0 = pixel_at(first, sizes);
  ivec3 pixel1 = next_pixel(pixel0, sizes);
  ivec3 pixel2 = next_pixel(pixel1, sizes);
  ivec3 pixel3 = next_pixel(pixel2, sizes);
  int in_padded = (group_in + 3) / 4 * 4;
  int next_quad = window[0] * window[1] * in_padded;
  int last_quad = (sizes.y + 7) / 8 * 2 - 1;
  // Drivers that unroll the loops over these keep them in registers.
  vec4 sums[32];
  float bias0 = has_bias != 0 ? bias_at(min(channel + 0 + cluster_lane(), sizes.y - 1)) : 0.0;
  sums[0] = vec4(from_lane(bias0, 0));
  sums[1] = vec4(from_lane(bias0, 1));
  sums[2] = vec4(from_lane(bias0, 2));
  sums[3] = vec4(from_lane(bias0, 3));
  sums[4] = vec4(from_lane(bias0, 4));
  sums[5] = vec4(from_lane(bias0, 5));
  sums[6] = vec4(from_lane(bias0, 6));
  sums[7] = vec4(from_lane(bias0, 7));
  float bias8 = has_bias != 0 ? bias_at(min(channel + 8 + cluster_lane(), sizes.y - 1)) : 0.0;
  sums[8] = vec4(from_lane(bias8, 0));
  sums[9] = vec4(from_lane(bias8, 1));
  sums[10] = vec4(from_lane(bias8, 2));
  sums[11] = vec4(from_lane(bias8, 3));
  sums[12] = vec4(from_lane(bias8, 4));
  sums[13] = vec4(from_lane(bias8, 5));
  sums[14] = vec4(from_lane(bias8, 6));
  sums[15] = vec4(from_lane(bias8, 7));
  float bias16 = has_bias != 0 ? bias_at(min(channel + 16 + cluster_lane(), sizes.y - 1)) : 0.0;
  sums[16] = vec4(from_lane(bias16, 0));
  sums[17] = vec4(from_lane(bias16, 1));
  sums[18] = vec4(from_lane(bias16, 2));
  sums[19] = vec4(from_lane(bias16, 3));
  sums[20] = vec4(from_lane(bias16, 4));
  sums[21] = vec4(from_lane(bias16, 5));
  sums[22] = vec4(from_lane(bias16, 6));
  sums[23] = vec4(from_lane(bias16, 7));
  float bias24 = has_bias != 0 ? bias_at(min(channel + 24 + cluster_lane(), sizes.y - 1)) : 0.0;
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
  ivec2 from = origin;
  for (int row = tap.x; row < window[0]; row += stride[0]) {
    from.y = origin.y;
    for (int column = tap.y; column < window[1]; column += stride[1]) {
      int w = (row * window[1] + column) * in_padded + cluster_lane() % 4;
      int w0 = min(channel / 4 + 0 + cluster_lane() / 4, last_quad) * next_quad + w;
      int w2 = min(channel / 4 + 2 + cluster_lane() / 4, last_quad) * next_quad + w;
      int w4 = min(channel / 4 + 4 + cluster_lane() / 4, last_quad) * next_quad + w;
      int w6 = min(channel / 4 + 6 + cluster_lane() / 4, last_quad) * next_quad + w;
      ivec2 at0 = pixel0.yz + from;
      bool inside0 = pixel0.x < sizes.x && at0.x >= 0 && at0.y >= 0 && at0.x < x_sizes[2] && at0.y < x_sizes[3];
      int x0 = inside0 ? pixel0.x * x_sizes[1] * x_step + at0.x * x_sizes[3] + at0.y : 0;
      ivec2 at1 = pixel1.yz + from;
      bool inside1 = pixel1.x < sizes.x && at1.x >= 0 && at1.y >= 0 && at1.x < x_sizes[2] && at1.y < x_sizes[3];
      int x1 = inside1 ? pixel1.x * x_sizes[1] * x_step + at1.x * x_sizes[3] + at1.y : 0;
      ivec2 at2 = pixel2.yz + from;
      bool inside2 = pixel2.x < sizes.x && at2.x >= 0 && at2.y >= 0 && at2.x < x_sizes[2] && at2.y < x_sizes[3];
      int x2 = inside2 ? pixel2.x * x_sizes[1] * x_step + at2.x * x_sizes[3] + at2.y : 0;
      ivec2 at3 = pixel3.yz + from;
      bool inside3 = pixel3.x < sizes.x && at3.x >= 0 && at3.y >= 0 && at3.x < x_sizes[2] && at3.y < x_sizes[3];
      int x3 = inside3 ? pixel3.x * x_sizes[1] * x_step + at3.x * x_sizes[3] + at3.y : 0;
      bvec4 inside = bvec4(inside0, inside1, inside2, inside3);
      from.y--;
    }
    from.x--;
  }

  int plane = y_sizes[2] * y_sizes[3];
  ivec3 place0 = place_of(pixel0, phase);
  bool is_there0 = is_in_y(place0);
  int y0 = index_of(place0, IVEC4(y_sizes)) + channel * plane;
  ivec3 place1 = place_of(pixel1, phase);
  bool is_there1 = is_in_y(place1);
  int y1 = index_of(place1, IVEC4(y_sizes)) + channel * plane;
  ivec3 place2 = place_of(pixel2, phase);
  bool is_there2 = is_in_y(place2);
  int y2 = index_of(place2, IVEC4(y_sizes)) + channel * plane;
  ivec3 place3 = place_of(pixel3, phase);
  bool is_there3 = is_in_y(place3);
  int y3 = index_of(place3, IVEC4(y_sizes)) + channel * plane;
  for (int o = 0; o < min(32, sizes.y - channel); o++) {
    if (is_there0) y_put(y0, sums[o][0]);
    y0 += plane;
    if (is_there1) y_put(y1, sums[o][1]);
    y1 += plane;
    if (is_there2) y_put(y2, sums[o][2]);
    y2 += plane;
    if (is_there3) y_put(y3, sums[o][3]);
    y3 += plane;
  }
}
