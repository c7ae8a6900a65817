#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require

// Elements k to k + 3 of a row of left, zero beyond K. If tiled, `row_start` is the row's offset in
// the first step of its tile.
vec4 left_load(int row_start, int k) {
  ivec4 i = min(ivec4(k) + ivec4(0, 1, 2, 3), ivec4(depth - 1));
  vec4 v = vec4(a_load(row_start + i.x), a_load(row_start + i.y), a_load(row_start + i.z), a_load(row_start + i.w));
  return mix(vec4(0.0), v, lessThan(ivec4(k) + ivec4(0, 1, 2, 3), ivec4(depth)));
}

// This lane's four columns of row k of right: zero beyond K, arbitrary beyond N.
vec4 right_load(int start, int column, int k) {
  int row = min(k, depth - 1);
  ivec4 i = start + row * columns + min(ivec4(column) + ivec4(0, 1, 2, 3), ivec4(columns - 1));
  vec4 v = vec4(b_load(i.x), b_load(i.y), b_load(i.z), b_load(i.w));
  return k < depth ? v : vec4(0.0);
}

void main() {
  int tiles = (columns + 31) / 32;
  int row_tiles = (row_count + 31) / 32;
  int batch = cluster_index();
  int column = unravel(batch, tiles) * 32 + cluster_lane() * 4;
  int row = unravel(batch, row_tiles) * 32;
  int product = min(batch, batches - 1);
  ivec2 matrix = MATRICES_OF(product);
  int left_start = matrix.x * row_count * depth;
  int right_start = matrix.y * depth * columns;
  int lane_column = min(column, (columns + 3) / 4 * 4 - 4);
  int left0 = left_start + min(row + 0 + cluster_lane(), row_count - 1) * depth;
  int left1 = left_start + min(row + 8 + cluster_lane(), row_count - 1) * depth;
  int left2 = left_start + min(row + 16 + cluster_lane(), row_count - 1) * depth;
  int left3 = left_start + min(row + 24 + cluster_lane(), row_count - 1) * depth;
  // A dynamically indexed array stays in memory, which avoids register allocation for 128 values.
  vec4 sums[32];
  for (int r = 0; r < 32; r++) sums[r] = vec4(0.0);
  for (int k = 0; k < depth; k += 4) {
    vec4 right0 = right_load(right_start, lane_column, k + 0);
    vec4 right1 = right_load(right_start, lane_column, k + 1);
    vec4 right2 = right_load(right_start, lane_column, k + 2);
    vec4 right3 = right_load(right_start, lane_column, k + 3);
    vec4 rows0 = left_load(left0, k);
    vec4 rows1 = left_load(left1, k);
    vec4 rows2 = left_load(left2, k);
    vec4 rows3 = left_load(left3, k);
    {
      vec4 row0 = from_lane(rows0, 0);
      vec4 sum0 = sums[0];
      sum0 += row0[0] * right0;
      sum0 += row0[1] * right1;
      sum0 += row0[2] * right2;
      sum0 += row0[3] * right3;
      sums[0] = sum0;
      vec4 row1 = from_lane(rows0, 1);
      vec4 sum1 = sums[1];
      sum1 += row1[0] * right0;
      sum1 += row1[1] * right1;
      sum1 += row1[2] * right2;
      sum1 += row1[3] * right3;
      sums[1] = sum1;
      vec4 row2 = from_lane(rows0, 2);
      vec4 sum2 = sums[2];
      sum2 += row2[0] * right0;
      sum2 += row2[1] * right1;
      sum2 += row2[2] * right2;
      sum2 += row2[3] * right3;
      sums[2] = sum2;
      vec4 row3 = from_lane(rows0, 3);
      vec4 sum3 = sums[3];
      sum3 += row3[0] * right0;
      sum3 += row3[1] * right1;
      sum3 += row3[2] * right2;
      sum3 += row3[3] * right3;
      sums[3] = sum3;
      vec4 row4 = from_lane(rows0, 4);
      vec4 sum4 = sums[4];
      sum4 += row4[0] * right0;
      sum4 += row4[1] * right1;
      sum4 += row4[2] * right2;
      sum4 += row4[3] * right3;
      sums[4] = sum4;
      vec4 row5 = from_lane(rows0, 5);
      vec4 sum5 = sums[5];
      sum5 += row5[0] * right0;
      sum5 += row5[1] * right1;
      sum5 += row5[2] * right2;
      sum5 += row5[3] * right3;
      sums[5] = sum5;
      vec4 row6 = from_lane(rows0, 6);
      vec4 sum6 = sums[6];
      sum6 += row6[0] * right0;
      sum6 += row6[1] * right1;
      sum6 += row6[2] * right2;
      sum6 += row6[3] * right3;
      sums[6] = sum6;
      vec4 row7 = from_lane(rows0, 7);
      vec4 sum7 = sums[7];
      sum7 += row7[0] * right0;
      sum7 += row7[1] * right1;
      sum7 += row7[2] * right2;
      sum7 += row7[3] * right3;
      sums[7] = sum7;
    }
    {
      vec4 row0 = from_lane(rows1, 0);
      vec4 sum0 = sums[8];
      sum0 += row0[0] * right0;
      sum0 += row0[1] * right1;
      sum0 += row0[2] * right2;
      sum0 += row0[3] * right3;
      sums[8] = sum0;
      vec4 row1 = from_lane(rows1, 1);
      vec4 sum1 = sums[9];
      sum1 += row1[0] * right0;
      sum1 += row1[1] * right1;
      sum1 += row1[2] * right2;
      sum1 += row1[3] * right3;
      sums[9] = sum1;
      vec4 row2 = from_lane(rows1, 2);
      vec4 sum2 = sums[10];
      sum2 += row2[0] * right0;
      sum2 += row2[1] * right1;
      sum2 += row2[2] * right2;
      sum2 += row2[3] * right3;
      sums[10] = sum2;
      vec4 row3 = from_lane(rows1, 3);
      vec4 sum3 = sums[11];
      sum3 += row3[0] * right0;
      sum3 += row3[1] * right1;
      sum3 += row3[2] * right2;
      sum3 += row3[3] * right3;
      sums[11] = sum3;
      vec4 row4 = from_lane(rows1, 4);
      vec4 sum4 = sums[12];
      sum4 += row4[0] * right0;
      sum4 += row4[1] * right1;
      sum4 += row4[2] * right2;
      sum4 += row4[3] * right3;
      sums[12] = sum4;
      vec4 row5 = from_lane(rows1, 5);
      vec4 sum5 = sums[13];
      sum5 += row5[0] * right0;
      sum5 += row5[1] * right1;
      sum5 += row5[2] * right2;
      sum5 += row5[3] * right3;
      sums[13] = sum5;
      vec4 row6 = from_lane(rows1, 6);
      vec4 sum6 = sums[14];
      sum6 += row6[0] * right0;
      sum6 += row6[1] * right1;
      sum6 += row6[2] * right2;
      sum6 += row6[3] * right3;
      sums[14] = sum6;
      vec4 row7 = from_lane(rows1, 7);
      vec4 sum7 = sums[15];
      sum7 += row7[0] * right0;
      sum7 += row7[1] * right1;
      sum7 += row7[2] * right2;
      sum7 += row7[3] * right3;
      sums[15] = sum7;
    }
    {
      vec4 row0 = from_lane(rows2, 0);
      vec4 sum0 = sums[16];
      sum0 += row0[0] * right0;
      sum0 += row0[1] * right1;
      sum0 += row0[2] * right2;
      sum0 += row0[3] * right3;
      sums[16] = sum0;
      vec4 row1 = from_lane(rows2, 1);
      vec4 sum1 = sums[17];
      sum1 += row1[0] * right0;
      sum1 += row1[1] * right1;
      sum1 += row1[2] * right2;
      sum1 += row1[3] * right3;
      sums[17] = sum1;
      vec4 row2 = from_lane(rows2, 2);
      vec4 sum2 = sums[18];
      sum2 += row2[0] * right0;
      sum2 += row2[1] * right1;
      sum2 += row2[2] * right2;
      sum2 += row2[3] * right3;
      sums[18] = sum2;
      vec4 row3 = from_lane(rows2, 3);
      vec4 sum3 = sums[19];
      sum3 += row3[0] * right0;
      sum3 += row3[1] * right1;
      sum3 += row3[2] * right2;
      sum3 += row3[3] * right3;
      sums[19] = sum3;
      vec4 row4 = from_lane(rows2, 4);
      vec4 sum4 = sums[20];
      sum4 += row4[0] * right0;
      sum4 += row4[1] * right1;
      sum4 += row4[2] * right2;
      sum4 += row4[3] * right3;
      sums[20] = sum4;
      vec4 row5 = from_lane(rows2, 5);
      vec4 sum5 = sums[21];
      sum5 += row5[0] * right0;
      sum5 += row5[1] * right1;
      sum5 += row5[2] * right2;
      sum5 += row5[3] * right3;
      sums[21] = sum5;
      vec4 row6 = from_lane(rows2, 6);
      vec4 sum6 = sums[22];
      sum6 += row6[0] * right0;
      sum6 += row6[1] * right1;
      sum6 += row6[2] * right2;
      sum6 += row6[3] * right3;
      sums[22] = sum6;
      vec4 row7 = from_lane(rows2, 7);
      vec4 sum7 = sums[23];
      sum7 += row7[0] * right0;
      sum7 += row7[1] * right1;
      sum7 += row7[2] * right2;
      sum7 += row7[3] * right3;
      sums[23] = sum7;
    }
    {
      vec4 row0 = from_lane(rows3, 0);
      vec4 sum0 = sums[24];
      sum0 += row0[0] * right0;
      sum0 += row0[1] * right1;
      sum0 += row0[2] * right2;
      sum0 += row0[3] * right3;
      sums[24] = sum0;
      vec4 row1 = from_lane(rows3, 1);
      vec4 sum1 = sums[25];
      sum1 += row1[0] * right0;
      sum1 += row1[1] * right1;
      sum1 += row1[2] * right2;
      sum1 += row1[3] * right3;
      sums[25] = sum1;
      vec4 row2 = from_lane(rows3, 2);
      vec4 sum2 = sums[26];
      sum2 += row2[0] * right0;
      sum2 += row2[1] * right1;
      sum2 += row2[2] * right2;
      sum2 += row2[3] * right3;
      sums[26] = sum2;
      vec4 row3 = from_lane(rows3, 3);
      vec4 sum3 = sums[27];
      sum3 += row3[0] * right0;
      sum3 += row3[1] * right1;
      sum3 += row3[2] * right2;
      sum3 += row3[3] * right3;
      sums[27] = sum3;
      vec4 row4 = from_lane(rows3, 4);
      vec4 sum4 = sums[28];
      sum4 += row4[0] * right0;
      sum4 += row4[1] * right1;
      sum4 += row4[2] * right2;
      sum4 += row4[3] * right3;
      sums[28] = sum4;
      vec4 row5 = from_lane(rows3, 5);
      vec4 sum5 = sums[29];
      sum5 += row5[0] * right0;
      sum5 += row5[1] * right1;
      sum5 += row5[2] * right2;
      sum5 += row5[3] * right3;
      sums[29] = sum5;
      vec4 row6 = from_lane(rows3, 6);
      vec4 sum6 = sums[30];
      sum6 += row6[0] * right0;
      sum6 += row6[1] * right1;
      sum6 += row6[2] * right2;
      sum6 += row6[3] * right3;
      sums[30] = sum6;
      vec4 row7 = from_lane(rows3, 7);
      vec4 sum7 = sums[31];
      sum7 += row7[0] * right0;
      sum7 += row7[1] * right1;
      sum7 += row7[2] * right2;
      sum7 += row7[3] * right3;
      sums[31] = sum7;
    }
  }
  if (column >= columns || batch >= batches) return;
  for (int r = 0; r < min(32, row_count - row); r++) {
    int first = (batch * row_count + row + r) * columns + column;
    for (int lane = 0; lane < min(4, columns - column); lane++) {
      y_store(first + lane, FINISHED(sums[r][lane], batch, row + r, column + lane, first + lane));
    }
  }
}
