#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require

void main() {
  int rest = cluster_index();
  int tile_block = unravel(rest, blocks);
  int point = unravel(rest, 16);
  if (rest >= out_blocks) return;
  int x_first = (tile_block * 16 + point) * in_padded * QUADS + min(cluster_lane(), QUADS - 1);
  int weight_first = (rest * 16 + point) * in_padded * 8 + cluster_lane();

  // A dynamically indexed array stays in memory, which avoids register allocation for 128 values.
  vec4 sums[32];
  for (int t = 0; t < 32; t++) sums[t] = vec4(0.0);
  for (int c = 0; c < in_padded; c += 4) {
    vec4 x0 = x_load4(x_first + (c + 0) * QUADS);
    vec4 weight0 = weight_load4(weight_first + (c + 0) * 8);
    vec4 x1 = x_load4(x_first + (c + 1) * QUADS);
    vec4 weight1 = weight_load4(weight_first + (c + 1) * 8);
    vec4 x2 = x_load4(x_first + (c + 2) * QUADS);
    vec4 weight2 = weight_load4(weight_first + (c + 2) * 8);
    vec4 x3 = x_load4(x_first + (c + 3) * QUADS);
    vec4 weight3 = weight_load4(weight_first + (c + 3) * 8);
    if (QUADS > 0) {
      vec4 sum0 = sums[0];
      vec4 sum1 = sums[1];
      vec4 sum2 = sums[2];
      vec4 sum3 = sums[3];
      vec4 tiles0 = from_lane(x0, 0);
      sum0 += tiles0[0] * weight0;
      sum1 += tiles0[1] * weight0;
      sum2 += tiles0[2] * weight0;
      sum3 += tiles0[3] * weight0;
      vec4 tiles1 = from_lane(x1, 0);
      sum0 += tiles1[0] * weight1;
      sum1 += tiles1[1] * weight1;
      sum2 += tiles1[2] * weight1;
      sum3 += tiles1[3] * weight1;
      vec4 tiles2 = from_lane(x2, 0);
      sum0 += tiles2[0] * weight2;
      sum1 += tiles2[1] * weight2;
      sum2 += tiles2[2] * weight2;
      sum3 += tiles2[3] * weight2;
      vec4 tiles3 = from_lane(x3, 0);
      sum0 += tiles3[0] * weight3;
      sum1 += tiles3[1] * weight3;
      sum2 += tiles3[2] * weight3;
      sum3 += tiles3[3] * weight3;
      sums[0] = sum0;
      sums[1] = sum1;
      sums[2] = sum2;
      sums[3] = sum3;
    }
    if (QUADS > 1) {
      vec4 sum0 = sums[4];
      vec4 sum1 = sums[5];
      vec4 sum2 = sums[6];
      vec4 sum3 = sums[7];
      vec4 tiles0 = from_lane(x0, 1);
      sum0 += tiles0[0] * weight0;
      sum1 += tiles0[1] * weight0;
      sum2 += tiles0[2] * weight0;
      sum3 += tiles0[3] * weight0;
      vec4 tiles1 = from_lane(x1, 1);
      sum0 += tiles1[0] * weight1;
      sum1 += tiles1[1] * weight1;
      sum2 += tiles1[2] * weight1;
      sum3 += tiles1[3] * weight1;
      vec4 tiles2 = from_lane(x2, 1);
      sum0 += tiles2[0] * weight2;
      sum1 += tiles2[1] * weight2;
      sum2 += tiles2[2] * weight2;
      sum3 += tiles2[3] * weight2;
      vec4 tiles3 = from_lane(x3, 1);
      sum0 += tiles3[0] * weight3;
      sum1 += tiles3[1] * weight3;
      sum2 += tiles3[2] * weight3;
      sum3 += tiles3[3] * weight3;
      sums[4] = sum0;
      sums[5] = sum1;
      sums[6] = sum2;
      sums[7] = sum3;
    }
    if (QUADS > 2) {
      vec4 sum0 = sums[8];
      vec4 sum1 = sums[9];
      vec4 sum2 = sums[10];
      vec4 sum3 = sums[11];
      vec4 tiles0 = from_lane(x0, 2);
      sum0 += tiles0[0] * weight0;
      sum1 += tiles0[1] * weight0;
      sum2 += tiles0[2] * weight0;
      sum3 += tiles0[3] * weight0;
      vec4 tiles1 = from_lane(x1, 2);
      sum0 += tiles1[0] * weight1;
      sum1 += tiles1[1] * weight1;
      sum2 += tiles1[2] * weight1;
      sum3 += tiles1[3] * weight1;
      vec4 tiles2 = from_lane(x2, 2);
      sum0 += tiles2[0] * weight2;
      sum1 += tiles2[1] * weight2;
      sum2 += tiles2[2] * weight2;
      sum3 += tiles2[3] * weight2;
      vec4 tiles3 = from_lane(x3, 2);
      sum0 += tiles3[0] * weight3;
      sum1 += tiles3[1] * weight3;
      sum2 += tiles3[2] * weight3;
      sum3 += tiles3[3] * weight3;
      sums[8] = sum0;
      sums[9] = sum1;
      sums[10] = sum2;
      sums[11] = sum3;
    }
    if (QUADS > 3) {
      vec4 sum0 = sums[12];
      vec4 sum1 = sums[13];
      vec4 sum2 = sums[14];
      vec4 sum3 = sums[15];
      vec4 tiles0 = from_lane(x0, 3);
      sum0 += tiles0[0] * weight0;
      sum1 += tiles0[1] * weight0;
      sum2 += tiles0[2] * weight0;
      sum3 += tiles0[3] * weight0;
      vec4 tiles1 = from_lane(x1, 3);
      sum0 += tiles1[0] * weight1;
      sum1 += tiles1[1] * weight1;
      sum2 += tiles1[2] * weight1;
      sum3 += tiles1[3] * weight1;
      vec4 tiles2 = from_lane(x2, 3);
      sum0 += tiles2[0] * weight2;
      sum1 += tiles2[1] * weight2;
      sum2 += tiles2[2] * weight2;
      sum3 += tiles2[3] * weight2;
      vec4 tiles3 = from_lane(x3, 3);
      sum0 += tiles3[0] * weight3;
      sum1 += tiles3[1] * weight3;
      sum2 += tiles3[2] * weight3;
      sum3 += tiles3[3] * weight3;
      sums[12] = sum0;
      sums[13] = sum1;
      sums[14] = sum2;
      sums[15] = sum3;
    }
    if (QUADS > 4) {
      vec4 sum0 = sums[16];
      vec4 sum1 = sums[17];
      vec4 sum2 = sums[18];
      vec4 sum3 = sums[19];
      vec4 tiles0 = from_lane(x0, 4);
      sum0 += tiles0[0] * weight0;
      sum1 += tiles0[1] * weight0;
      sum2 += tiles0[2] * weight0;
      sum3 += tiles0[3] * weight0;
      vec4 tiles1 = from_lane(x1, 4);
      sum0 += tiles1[0] * weight1;
      sum1 += tiles1[1] * weight1;
      sum2 += tiles1[2] * weight1;
      sum3 += tiles1[3] * weight1;
      vec4 tiles2 = from_lane(x2, 4);
      sum0 += tiles2[0] * weight2;
      sum1 += tiles2[1] * weight2;
      sum2 += tiles2[2] * weight2;
      sum3 += tiles2[3] * weight2;
      vec4 tiles3 = from_lane(x3, 4);
      sum0 += tiles3[0] * weight3;
      sum1 += tiles3[1] * weight3;
      sum2 += tiles3[2] * weight3;
      sum3 += tiles3[3] * weight3;
      sums[16] = sum0;
      sums[17] = sum1;
      sums[18] = sum2;
      sums[19] = sum3;
    }
    if (QUADS > 5) {
      vec4 sum0 = sums[20];
      vec4 sum1 = sums[21];
      vec4 sum2 = sums[22];
      vec4 sum3 = sums[23];
      vec4 tiles0 = from_lane(x0, 5);
      sum0 += tiles0[0] * weight0;
      sum1 += tiles0[1] * weight0;
      sum2 += tiles0[2] * weight0;
      sum3 += tiles0[3] * weight0;
      vec4 tiles1 = from_lane(x1, 5);
      sum0 += tiles1[0] * weight1;
      sum1 += tiles1[1] * weight1;
      sum2 += tiles1[2] * weight1;
      sum3 += tiles1[3] * weight1;
      vec4 tiles2 = from_lane(x2, 5);
      sum0 += tiles2[0] * weight2;
      sum1 += tiles2[1] * weight2;
      sum2 += tiles2[2] * weight2;
      sum3 += tiles2[3] * weight2;
      vec4 tiles3 = from_lane(x3, 5);
      sum0 += tiles3[0] * weight3;
      sum1 += tiles3[1] * weight3;
      sum2 += tiles3[2] * weight3;
      sum3 += tiles3[3] * weight3;
      sums[20] = sum0;
      sums[21] = sum1;
      sums[22] = sum2;
      sums[23] = sum3;
    }
    if (QUADS > 6) {
      vec4 sum0 = sums[24];
      vec4 sum1 = sums[25];
      vec4 sum2 = sums[26];
      vec4 sum3 = sums[27];
      vec4 tiles0 = from_lane(x0, 6);
      sum0 += tiles0[0] * weight0;
      sum1 += tiles0[1] * weight0;
      sum2 += tiles0[2] * weight0;
      sum3 += tiles0[3] * weight0;
      vec4 tiles1 = from_lane(x1, 6);
      sum0 += tiles1[0] * weight1;
      sum1 += tiles1[1] * weight1;
      sum2 += tiles1[2] * weight1;
      sum3 += tiles1[3] * weight1;
      vec4 tiles2 = from_lane(x2, 6);
      sum0 += tiles2[0] * weight2;
      sum1 += tiles2[1] * weight2;
      sum2 += tiles2[2] * weight2;
      sum3 += tiles2[3] * weight2;
      vec4 tiles3 = from_lane(x3, 6);
      sum0 += tiles3[0] * weight3;
      sum1 += tiles3[1] * weight3;
      sum2 += tiles3[2] * weight3;
      sum3 += tiles3[3] * weight3;
      sums[24] = sum0;
      sums[25] = sum1;
      sums[26] = sum2;
      sums[27] = sum3;
    }
    if (QUADS > 7) {
      vec4 sum0 = sums[28];
      vec4 sum1 = sums[29];
      vec4 sum2 = sums[30];
      vec4 sum3 = sums[31];
      vec4 tiles0 = from_lane(x0, 7);
      sum0 += tiles0[0] * weight0;
      sum1 += tiles0[1] * weight0;
      sum2 += tiles0[2] * weight0;
      sum3 += tiles0[3] * weight0;
      vec4 tiles1 = from_lane(x1, 7);
      sum0 += tiles1[0] * weight1;
      sum1 += tiles1[1] * weight1;
      sum2 += tiles1[2] * weight1;
      sum3 += tiles1[3] * weight1;
      vec4 tiles2 = from_lane(x2, 7);
      sum0 += tiles2[0] * weight2;
      sum1 += tiles2[1] * weight2;
      sum2 += tiles2[2] * weight2;
      sum3 += tiles2[3] * weight2;
      vec4 tiles3 = from_lane(x3, 7);
      sum0 += tiles3[0] * weight3;
      sum1 += tiles3[1] * weight3;
      sum2 += tiles3[2] * weight3;
      sum3 += tiles3[3] * weight3;
      sums[28] = sum0;
      sums[29] = sum1;
      sums[30] = sum2;
      sums[31] = sum3;
    }
  }
  int y_first = ((tile_block * 16 + point) * block * out_blocks + rest) * 8 + cluster_lane();
  for (int t = 0; t < block; t++) y_store4(y_first + t * out_blocks * 8, sums[t]);
}
