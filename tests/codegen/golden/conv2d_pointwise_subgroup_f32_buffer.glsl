#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require


void main() {
  ivec4 sizes = IVEC4(y_sizes);
  int plane = sizes.z * sizes.w;
  int count = sizes.x * plane;
  int tiles = (count + 31) / 32;
  int block = cluster_number();
  int tile = take(block, tiles);
  int channel = block * 24;
  int first = tile * 32 + cluster_lane() * 4;

  int image = first;
  int within = take(image, plane);
  int x_first = first < count ? (image * group_in * plane + within) / 4 : 0;
  int x_step = plane / 4;
  int in_padded = (group_in + 3) / 4 * 4;
  int next_quad = in_padded;
  int last_quad = (sizes.y + 7) / 8 * 2 - 1;
  int w0 = min(channel / 4 + 0 + cluster_lane() / 4, last_quad) * next_quad + cluster_lane() % 4;
  int w2 = min(channel / 4 + 2 + cluster_lane() / 4, last_quad) * next_quad + cluster_lane() % 4;
  int w4 = min(channel / 4 + 4 + cluster_lane() / 4, last_quad) * next_quad + cluster_lane() % 4;
  // Drivers that unroll the loops below keep these in registers.
  vec4 sums[24];
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

    for (int c = 0; c < group_in; c += 4) {
      int step0 = min(c + 0, group_in - 1) * x_step;
      vec4 v0 = x_at4(x_first + step0);
      v0 = c + 0 < group_in ? v0 : vec4(0.0);
      int step1 = min(c + 1, group_in - 1) * x_step;
      vec4 v1 = x_at4(x_first + step1);
      v1 = c + 1 < group_in ? v1 : vec4(0.0);
      int step2 = min(c + 2, group_in - 1) * x_step;
      vec4 v2 = x_at4(x_first + step2);
      v2 = c + 2 < group_in ? v2 : vec4(0.0);
      int step3 = min(c + 3, group_in - 1) * x_step;
      vec4 v3 = x_at4(x_first + step3);
      v3 = c + 3 < group_in ? v3 : vec4(0.0);
      vec4 weights0 = weight_at4(w0 + c);
      vec4 weights2 = weight_at4(w2 + c);
      vec4 weights4 = weight_at4(w4 + c);
      {
        vec4 sum0 = sums[0];
        vec4 sum1 = sums[1];
        vec4 sum2 = sums[2];
        vec4 sum3 = sums[3];
        vec4 weight0 = from_lane(weights0, 0);
        sum0 += weight0[0] * v0;
        sum1 += weight0[1] * v0;
        sum2 += weight0[2] * v0;
        sum3 += weight0[3] * v0;
        vec4 weight1 = from_lane(weights0, 1);
        sum0 += weight1[0] * v1;
        sum1 += weight1[1] * v1;
        sum2 += weight1[2] * v1;
        sum3 += weight1[3] * v1;
        vec4 weight2 = from_lane(weights0, 2);
        sum0 += weight2[0] * v2;
        sum1 += weight2[1] * v2;
        sum2 += weight2[2] * v2;
        sum3 += weight2[3] * v2;
        vec4 weight3 = from_lane(weights0, 3);
        sum0 += weight3[0] * v3;
        sum1 += weight3[1] * v3;
        sum2 += weight3[2] * v3;
        sum3 += weight3[3] * v3;
        sums[0] = sum0;
        sums[1] = sum1;
        sums[2] = sum2;
        sums[3] = sum3;
      }
      {
        vec4 sum0 = sums[4];
        vec4 sum1 = sums[5];
        vec4 sum2 = sums[6];
        vec4 sum3 = sums[7];
        vec4 weight0 = from_lane(weights0, 4);
        sum0 += weight0[0] * v0;
        sum1 += weight0[1] * v0;
        sum2 += weight0[2] * v0;
        sum3 += weight0[3] * v0;
        vec4 weight1 = from_lane(weights0, 5);
        sum0 += weight1[0] * v1;
        sum1 += weight1[1] * v1;
        sum2 += weight1[2] * v1;
        sum3 += weight1[3] * v1;
        vec4 weight2 = from_lane(weights0, 6);
        sum0 += weight2[0] * v2;
        sum1 += weight2[1] * v2;
        sum2 += weight2[2] * v2;
        sum3 += weight2[3] * v2;
        vec4 weight3 = from_lane(weights0, 7);
        sum0 += weight3[0] * v3;
        sum1 += weight3[1] * v3;
        sum2 += weight3[2] * v3;
        sum3 += weight3[3] * v3;
        sums[4] = sum0;
        sums[5] = sum1;
        sums[6] = sum2;
        sums[7] = sum3;
      }
      {
        vec4 sum0 = sums[8];
        vec4 sum1 = sums[9];
        vec4 sum2 = sums[10];
        vec4 sum3 = sums[11];
        vec4 weight0 = from_lane(weights2, 0);
        sum0 += weight0[0] * v0;
        sum1 += weight0[1] * v0;
        sum2 += weight0[2] * v0;
        sum3 += weight0[3] * v0;
        vec4 weight1 = from_lane(weights2, 1);
        sum0 += weight1[0] * v1;
        sum1 += weight1[1] * v1;
        sum2 += weight1[2] * v1;
        sum3 += weight1[3] * v1;
        vec4 weight2 = from_lane(weights2, 2);
        sum0 += weight2[0] * v2;
        sum1 += weight2[1] * v2;
        sum2 += weight2[2] * v2;
        sum3 += weight2[3] * v2;
        vec4 weight3 = from_lane(weights2, 3);
        sum0 += weight3[0] * v3;
        sum1 += weight3[1] * v3;
        sum2 += weight3[2] * v3;
        sum3 += weight3[3] * v3;
        sums[8] = sum0;
        sums[9] = sum1;
        sums[10] = sum2;
        sums[11] = sum3;
      }
      {
        vec4 sum0 = sums[12];
        vec4 sum1 = sums[13];
        vec4 sum2 = sums[14];
        vec4 sum3 = sums[15];
        vec4 weight0 = from_lane(weights2, 4);
        sum0 += weight0[0] * v0;
        sum1 += weight0[1] * v0;
        sum2 += weight0[2] * v0;
        sum3 += weight0[3] * v0;
        vec4 weight1 = from_lane(weights2, 5);
        sum0 += weight1[0] * v1;
        sum1 += weight1[1] * v1;
        sum2 += weight1[2] * v1;
        sum3 += weight1[3] * v1;
        vec4 weight2 = from_lane(weights2, 6);
        sum0 += weight2[0] * v2;
        sum1 += weight2[1] * v2;
        sum2 += weight2[2] * v2;
        sum3 += weight2[3] * v2;
        vec4 weight3 = from_lane(weights2, 7);
        sum0 += weight3[0] * v3;
        sum1 += weight3[1] * v3;
        sum2 += weight3[2] * v3;
        sum3 += weight3[3] * v3;
        sums[12] = sum0;
        sums[13] = sum1;
        sums[14] = sum2;
        sums[15] = sum3;
      }
      {
        vec4 sum0 = sums[16];
        vec4 sum1 = sums[17];
        vec4 sum2 = sums[18];
        vec4 sum3 = sums[19];
        vec4 weight0 = from_lane(weights4, 0);
        sum0 += weight0[0] * v0;
        sum1 += weight0[1] * v0;
        sum2 += weight0[2] * v0;
        sum3 += weight0[3] * v0;
        vec4 weight1 = from_lane(weights4, 1);
        sum0 += weight1[0] * v1;
        sum1 += weight1[1] * v1;
        sum2 += weight1[2] * v1;
        sum3 += weight1[3] * v1;
        vec4 weight2 = from_lane(weights4, 2);
        sum0 += weight2[0] * v2;
        sum1 += weight2[1] * v2;
        sum2 += weight2[2] * v2;
        sum3 += weight2[3] * v2;
        vec4 weight3 = from_lane(weights4, 3);
        sum0 += weight3[0] * v3;
        sum1 += weight3[1] * v3;
        sum2 += weight3[2] * v3;
        sum3 += weight3[3] * v3;
        sums[16] = sum0;
        sums[17] = sum1;
        sums[18] = sum2;
        sums[19] = sum3;
      }
      {
        vec4 sum0 = sums[20];
        vec4 sum1 = sums[21];
        vec4 sum2 = sums[22];
        vec4 sum3 = sums[23];
        vec4 weight0 = from_lane(weights4, 4);
        sum0 += weight0[0] * v0;
        sum1 += weight0[1] * v0;
        sum2 += weight0[2] * v0;
        sum3 += weight0[3] * v0;
        vec4 weight1 = from_lane(weights4, 5);
        sum0 += weight1[0] * v1;
        sum1 += weight1[1] * v1;
        sum2 += weight1[2] * v1;
        sum3 += weight1[3] * v1;
        vec4 weight2 = from_lane(weights4, 6);
        sum0 += weight2[0] * v2;
        sum1 += weight2[1] * v2;
        sum2 += weight2[2] * v2;
        sum3 += weight2[3] * v2;
        vec4 weight3 = from_lane(weights4, 7);
        sum0 += weight3[0] * v3;
        sum1 += weight3[1] * v3;
        sum2 += weight3[2] * v3;
        sum3 += weight3[3] * v3;
        sums[20] = sum0;
        sums[21] = sum1;
        sums[22] = sum2;
        sums[23] = sum3;
      }
    }

  int at = ((image * sizes.y + channel) * plane + within) / 4;
  int y_step = plane / 4;
  int last = sizes.x * sizes.y * y_step - 1;
  // A loop, because software devices skip one that has no lanes, but execute both sides of a branch.
  for (int once = 0; once < has_addend; once++) {
    for (int o = 0; o < 24; o++) sums[o] += addend_at4(min(at + o * y_step, last));
  }
  if (first >= count) return;
  for (int o = 0; o < min(24, sizes.y - channel); o++) {
    vec4 value = activate(sums[o]);
    y_put4(at, value);
    at += y_step;
  }
}
