#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// A step has 16 K indices. The left tile is transposed, so that an invocation's rows are adjacent;
// rows are padded by one vec4 against bank conflicts.
shared vec4 left_tile[544];  // [k_slice][stage][k][row / 4]
shared vec4 right_tile[512];  // [k_slice][stage][k][column / 4]

// Elements k to k + 3 of a row of left, zero beyond K.
vec4 left_load(int row_start, int k) {
  vec4 v = a_load4((row_start + min(k, depth - 4)) / 4);
  return k < depth ? v : vec4(0.0);
}

// Four columns of row k of right, zero beyond K.
vec4 right_load(int start, int column, int k) {
  int row = min(k, depth - 1);
  vec4 v = b_load4((start + row * columns + column) / 4);
  return k < depth ? v : vec4(0.0);
}

void main() {
  int lane = int(gl_LocalInvocationID.x);
  int row_blocks = (row_count + 63) / 64;
  int column_blocks = (columns + 63) / 64;
  int batch = workgroup_index();
  int block = unravel(batch, row_blocks * column_blocks);
  // Swizzled tile order, bands of 8 tile rows: concurrent workgroups share operand tiles in the
  // cache.
  int band = block / (8 * column_blocks);
  int band_rows = min(8, row_blocks - 8 * band);
  block -= 8 * band * column_blocks;
  int row = (8 * band + block % band_rows) * 64;
  int column = block / band_rows * 64;
  bool inside = batch < batches;
  int product = inside ? batch : 0;
  ivec2 matrix = MATRICES_OF(product);
  int left_start = matrix.x * row_count * depth;
  int right_start = matrix.y * depth * columns;
  // Loads per step: of left, 4 K indices of every 32th row from lane / 4 on;
  // of right, 4 columns of each 8th row from lane / 16 on.
  int left_row0 = left_start + min(row + lane / 4 + 0, row_count - 1) * depth;
  int left_row1 = left_start + min(row + lane / 4 + 32, row_count - 1) * depth;
  int own_depth = depth;
  const int first_k = 0;
  int left_k = lane % 4 * 4;
  int right_k = lane / 16;
  int right_column = min(column + lane % 16 * 4, (columns + 3) / 4 * 4 - 4);
  // The invocation's first group of 4 columns, and of 4 rows.
  int column_vec4 = lane % 16;
  int row_vec4 = lane / 16;
  vec4 sum0_0 = vec4(0.0);
  vec4 sum1_0 = vec4(0.0);
  vec4 sum2_0 = vec4(0.0);
  vec4 sum3_0 = vec4(0.0);
  vec4 sum4_0 = vec4(0.0);
  vec4 sum5_0 = vec4(0.0);
  vec4 sum6_0 = vec4(0.0);
  vec4 sum7_0 = vec4(0.0);
    vec4 left0 = left_load(left_row0, first_k + left_k);
    vec4 left1 = left_load(left_row1, first_k + left_k);
    vec4 right0 = right_load(right_start, right_column, first_k + 0 + right_k);
    vec4 right1 = right_load(right_start, right_column, first_k + 8 + right_k);

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
    left0 = left_load(left_row0, k + 16 + left_k);
    left1 = left_load(left_row1, k + 16 + left_k);
    right0 = right_load(right_start, right_column, k + 16 + 0 + right_k);
    right1 = right_load(right_start, right_column, k + 16 + 8 + right_k);

    [[unroll]] for (int s = 0; s < 16; s++) {
      vec4 b0 = right_tile[right_stage + s * 16 + column_vec4 + 0];
      vec4 a0 = left_tile[left_stage + s * 17 + row_vec4];
      vec4 a1 = left_tile[left_stage + s * 17 + row_vec4 + 8];
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
  column += column_vec4 * 4;
  if (!inside || column >= columns) return;
  // Loop with one copy of the epilogue: unrolled, it would dominate the module size.
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
    int y_row = row + i % 8 / 4 * 32 + row_vec4 * 4 + i % 4;
    int y_column = column;
    if (y_row >= row_count || y_column >= columns) continue;
    int first = (batch * row_count + y_row) * columns + y_column;
    for (int c = 0; c < 4; c++) y_store(first + c, FINISHED(v[c], batch, y_row, y_column + c, first + c));
  }
}
