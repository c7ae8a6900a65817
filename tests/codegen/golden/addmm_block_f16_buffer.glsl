#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// A step is 16 deep. Left is turned, so that an invocation's rows lie side by side; four numbers to spare behind each put those that lanes write
// together into different banks.
shared vec4 left_tile[544];  // [team][stage][k][row / 4]
shared vec4 right_tile[512];  // [team][stage][k][column / 4]

// Four of a row of left, from k on; zeros beyond its end.
vec4 left_at(int row_start, int k) {
  vec4 v = a_at4((row_start + min(k, depth - 4)) / 4);
  return k < depth ? v : vec4(0.0);
}

// Four columns of row k of right; zeros beyond the last row.
vec4 right_at(int start, int column, int k) {
  int row = min(k, depth - 1);
  vec4 v = b_at4((start + row * columns + column) / 4);
  return k < depth ? v : vec4(0.0);
}

void main() {
  int lane = int(gl_LocalInvocationID.x);
  int row_blocks = (row_count + 63) / 64;
  int column_blocks = (columns + 63) / 64;
  int batch = workgroup_number();
  int block = take(batch, row_blocks * column_blocks);
  // Down eight rows of blocks, then right: workgroups that run together read the same parts of both operands.
  int band = block / (8 * column_blocks);
  int band_rows = min(8, row_blocks - 8 * band);
  block -= 8 * band * column_blocks;
  int row = (8 * band + block % band_rows) * 64;
  int column = block / band_rows * 64;
  bool inside = batch < batches;
  int product = inside ? batch : 0;
  ivec2 from = ivec2(product);
  int left_start = from.x * row_count * depth;
  int right_start = from.y * depth * columns;
  // What this invocation loads in each step: four of every 32th row from lane / 4 on of left, four of every 8th row from lane / 16 on of right.
  int left_row0 = left_start + min(row + lane / 4 + 0, row_count - 1) * depth;
  int left_row1 = left_start + min(row + lane / 4 + 32, row_count - 1) * depth;
  int own_depth = depth;
  const int first_k = 0;
  int left_k = lane % 4 * 4;
  int right_k = lane / 16;
  int right_column = min(column + lane % 16 * 4, columns - 4);
  // The first four columns that it computes, and the first four of its rows.
  int fours = lane % 16;
  int rows = lane / 16;
  vec4 sum0_0 = vec4(0.0);
  vec4 sum1_0 = vec4(0.0);
  vec4 sum2_0 = vec4(0.0);
  vec4 sum3_0 = vec4(0.0);
  vec4 sum4_0 = vec4(0.0);
  vec4 sum5_0 = vec4(0.0);
  vec4 sum6_0 = vec4(0.0);
  vec4 sum7_0 = vec4(0.0);
    vec4 left0 = left_at(left_row0, first_k + left_k);
    vec4 left1 = left_at(left_row1, first_k + left_k);
    vec4 right0 = right_at(right_start, right_column, first_k + 0 + right_k);
    vec4 right1 = right_at(right_start, right_column, first_k + 8 + right_k);

  int left_stage = 0 * 544;
  int right_stage = 0 * 512;
  for (int k = 0; k < own_depth; k += 16) {
    [[unroll]] for (int s = 0; s < 4; s++) {
      left_tile[left_stage + (left_k + s) * 17 + lane / 16 + 0][lane / 4 % 4] = left0[s];
      left_tile[left_stage + (left_k + s) * 17 + lane / 16 + 8][lane / 4 % 4] = left1[s];
    }
    right_tile[right_stage + lane + 0] = right0;
    right_tile[right_stage + lane + 128] = right1;
    barrier();
    left0 = left_at(left_row0, k + 16 + left_k);
    left1 = left_at(left_row1, k + 16 + left_k);
    right0 = right_at(right_start, right_column, k + 16 + 0 + right_k);
    right1 = right_at(right_start, right_column, k + 16 + 8 + right_k);

    [[unroll]] for (int s = 0; s < 16; s++) {
      vec4 b0 = right_tile[right_stage + s * 16 + fours + 0];
      vec4 a0 = left_tile[left_stage + s * 17 + rows];
      vec4 a1 = left_tile[left_stage + s * 17 + rows + 8];
      sum0_0 += a0[0] * b0;
      sum1_0 += a0[1] * b0;
      sum2_0 += a0[2] * b0;
      sum3_0 += a0[3] * b0;
      sum4_0 += a1[0] * b0;
      sum5_0 += a1[1] * b0;
      sum6_0 += a1[2] * b0;
      sum7_0 += a1[3] * b0;
    }
    left_stage = 0 * 1088 + 272 - left_stage;
    right_stage = 0 * 1024 + 256 - right_stage;
  }
  column += fours * 4;
  if (!inside || column >= columns) return;
  // One copy of the epilogue: unrolled, it would be most of the module.
  vec4 sums[8];
  sums[0] = sum0_0;
  sums[1] = sum1_0;
  sums[2] = sum2_0;
  sums[3] = sum3_0;
  sums[4] = sum4_0;
  sums[5] = sum5_0;
  sums[6] = sum6_0;
  sums[7] = sum7_0;
  for (int i = 0; i < 8; i++) {
    vec4 v = sums[i];
    int y_row = row + i % 8 / 4 * 32 + rows * 4 + i % 4;
    int y_column = column;
    if (y_row >= row_count || y_column >= columns) continue;
    int first = (batch * row_count + y_row) * columns + y_column;
    for (int c = 0; c < 4; c++) y_put(first + c, with_addend(v[c], ivec3(batch, y_row, y_column + c)));
  }
}
