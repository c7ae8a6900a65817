#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

shared vec4 left_tile[128];   // [step][row / 4]
shared vec4 right_tile[128];  // [step][column / 4]

float left_load(int start, int row, int k) {
  bool inside = row < row_count && k < depth;
  float v = a_load(inside ? start + row * depth + k : 0);
  return inside ? v : 0.0;
}

float right_load(int start, int column, int k) {
  bool inside = column < columns && k < depth;
  float v = b_load(inside ? start + k * columns + column : 0);
  return inside ? v : 0.0;
}

void main() {
  int lane = int(gl_LocalInvocationID.x);
  int batch = workgroup_index();
  int column = unravel(batch, (columns + 31) / 32) * 32;
  int row = unravel(batch, (row_count + 31) / 32) * 32;
  bool inside = batch < batches;
  int product = inside ? batch : 0;
  ivec2 matrix = MATRICES_OF(product);
  int left_start = matrix.x * row_count * depth;
  int right_start = matrix.y * depth * columns;
  // Loads per step: 8 elements of a row of left, 8 of a row of right.
  int left_row = lane % 32;
  int left_k = lane / 32 * 8;
  int right_column = lane % 4 * 8;
  int right_k = lane / 4;
  // The invocation's groups of 4 rows and 4 columns.
  int row_vec4 = lane / 8 * 1;
  int column_vec4 = lane % 8 * 1;
  vec4 sum0_0 = vec4(0.0);
  vec4 sum1_0 = vec4(0.0);
  vec4 sum2_0 = vec4(0.0);
  vec4 sum3_0 = vec4(0.0);
  for (int k = 0; k < depth; k += 16) {
    for (int i = 0; i < 8; i++) {
      left_tile[(left_k + i) * 8 + left_row / 4][left_row % 4] = left_load(left_start, row + left_row, k + left_k + i);
    }
    for (int i = 0; i < 2; i++) {
      vec4 values;
      for (int c = 0; c < 4; c++) values[c] = right_load(right_start, column + right_column + 4 * i + c, k + right_k);
      right_tile[right_k * 8 + right_column / 4 + i] = values;
    }
    barrier();
    for (int step = 0; step < 16; step++) {
      vec4 left0 = left_tile[step * 8 + row_vec4 + 0];
      vec4 right0 = right_tile[step * 8 + column_vec4 + 0];
      sum0_0 += left0[0] * right0;
      sum1_0 += left0[1] * right0;
      sum2_0 += left0[2] * right0;
      sum3_0 += left0[3] * right0;
    }
    barrier();
  }
  if (!inside) return;
  // Loop with one copy of the epilogue: unrolled, it would dominate the module size.
  vec4 sums[4];
  sums[0] = sum0_0;
  sums[1] = sum1_0;
  sums[2] = sum2_0;
  sums[3] = sum3_0;
  row += row_vec4 * 4;
  column += column_vec4 * 4;
  for (int i = 0; i < 4; i++) {
    int y_row = row + i / 1;
    int y_column = column + i % 1 * 4;
    int first = (batch * row_count + y_row) * columns + y_column;
    for (int c = 0; c < (y_row < row_count ? min(4, columns - y_column) : 0); c++) {
      y_store(first + c, FINISHED(sums[i][c], batch, y_row, y_column + c, first + c));
    }
  }
}
