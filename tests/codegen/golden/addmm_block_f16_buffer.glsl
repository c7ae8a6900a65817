#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// A step is 16 deep. Left is turned, so that an invocation's rows lie side by side; four numbers to spare behind each put those that lanes write
// together into different banks.
shared vec4 left_tile[16 * 17];   // [k][row / 4]
shared vec4 right_tile[16 * 16];  // [k][column / 4]

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
  // What this invocation loads in each step: four of rows lane / 4 and lane / 4 + 32 of left, four of rows lane / 16 and lane / 16 + 8 of right.
  int left_row0 = left_start + min(row + lane / 4 + 0, row_count - 1) * depth;
  int left_row1 = left_start + min(row + lane / 4 + 32, row_count - 1) * depth;
  int left_k = lane % 4 * 4;
  int right_k = lane / 16;
  int right_column = min(column + lane % 16 * 4, columns - 4);
  // The four columns that it computes, and the first four of its rows; the others are 32 further down.
  int fours = lane % 16;
  int rows = lane / 16;
  vec4 sum0 = vec4(0.0);
  vec4 sum1 = vec4(0.0);
  vec4 sum2 = vec4(0.0);
  vec4 sum3 = vec4(0.0);
  vec4 sum4 = vec4(0.0);
  vec4 sum5 = vec4(0.0);
  vec4 sum6 = vec4(0.0);
  vec4 sum7 = vec4(0.0);
  vec4 left0 = left_at(left_row0, left_k);
  vec4 right0 = right_at(right_start, right_column, right_k + 0);
  vec4 left1 = left_at(left_row1, left_k);
  vec4 right1 = right_at(right_start, right_column, right_k + 8);
  for (int k = 0; k < depth; k += 16) {
    barrier();
    for (int s = 0; s < 4; s++) {
      left_tile[(left_k + s) * 17 + lane / 16 + 0][lane / 4 % 4] = left0[s];
      left_tile[(left_k + s) * 17 + lane / 16 + 8][lane / 4 % 4] = left1[s];
    }
    right_tile[lane + 0] = right0;
    right_tile[lane + 128] = right1;
    barrier();
    left0 = left_at(left_row0, k + 16 + left_k);
    right0 = right_at(right_start, right_column, k + 16 + right_k);
    left1 = left_at(left_row1, k + 16 + left_k);
    right1 = right_at(right_start, right_column, k + 24 + right_k);
    for (int s = 0; s < 16; s++) {
      vec4 b = right_tile[s * 16 + fours];
      vec4 a0 = left_tile[s * 17 + rows];
      vec4 a1 = left_tile[s * 17 + rows + 8];
      sum0 += a0[0] * b;
      sum1 += a0[1] * b;
      sum2 += a0[2] * b;
      sum3 += a0[3] * b;
      sum4 += a1[0] * b;
      sum5 += a1[1] * b;
      sum6 += a1[2] * b;
      sum7 += a1[3] * b;
    }
  }
  column += fours * 4;
  if (!inside || column >= columns) return;
  // One copy of the epilogue: unrolled, it would be most of the module.
  vec4 sums[8];
  sums[0] = sum0;
  sums[1] = sum1;
  sums[2] = sum2;
  sums[3] = sum3;
  sums[4] = sum4;
  sums[5] = sum5;
  sums[6] = sum6;
  sums[7] = sum7;
  for (int r = 0; r < 8; r++) {
    int y_row = row + r / 4 * 32 + rows * 4 + r % 4;
    if (y_row >= row_count) return;
    int first = (batch * row_count + y_row) * columns + column;
    for (int c = 0; c < 4; c++) y_put(first + c, with_addend(sums[r][c], ivec3(batch, y_row, column + c)));
  }
}
