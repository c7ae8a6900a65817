#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void store(ivec2 batch_row, int column, vec4 sum) {
  int first = (batch_row.x * row_count + batch_row.y) * columns;
  for (int lane = 0; lane < min(4, columns - column); lane++) {
    y_store(first + column + lane, FINISHED(sum[lane], batch_row.x, batch_row.y, column + lane, first + column + lane));
  }
}

void main() {
  int tiles = (columns + 7) / 8;
  int row_tiles = (row_count + 7) / 8;
  int batch = flat_index();
  int column = unravel(batch, tiles) * 8;
  int row = unravel(batch, row_tiles) * 8;
  if (batch >= batches) return;
  ivec2 matrix = MATRICES_OF(batch);
  int left0 = (matrix.x * row_count + min(row + 0, row_count - 1)) * depth;
  vec4 low0 = vec4(0);
  vec4 high0 = vec4(0);
  int left1 = (matrix.x * row_count + min(row + 1, row_count - 1)) * depth;
  vec4 low1 = vec4(0);
  vec4 high1 = vec4(0);
  int left2 = (matrix.x * row_count + min(row + 2, row_count - 1)) * depth;
  vec4 low2 = vec4(0);
  vec4 high2 = vec4(0);
  int left3 = (matrix.x * row_count + min(row + 3, row_count - 1)) * depth;
  vec4 low3 = vec4(0);
  vec4 high3 = vec4(0);
  int left4 = (matrix.x * row_count + min(row + 4, row_count - 1)) * depth;
  vec4 low4 = vec4(0);
  vec4 high4 = vec4(0);
  int left5 = (matrix.x * row_count + min(row + 5, row_count - 1)) * depth;
  vec4 low5 = vec4(0);
  vec4 high5 = vec4(0);
  int left6 = (matrix.x * row_count + min(row + 6, row_count - 1)) * depth;
  vec4 low6 = vec4(0);
  vec4 high6 = vec4(0);
  int left7 = (matrix.x * row_count + min(row + 7, row_count - 1)) * depth;
  vec4 low7 = vec4(0);
  vec4 high7 = vec4(0);
  int row_stride = columns;
  int right = matrix.y * depth * columns;
  int last = columns - 1;
  for (int k = 0; k < depth; k++) {
    vec4 right_low, right_high;
    right_low[0] = b_load(right + min(column + 0, last));
    right_high[0] = b_load(right + min(column + 4, last));
    right_low[1] = b_load(right + min(column + 1, last));
    right_high[1] = b_load(right + min(column + 5, last));
    right_low[2] = b_load(right + min(column + 2, last));
    right_high[2] = b_load(right + min(column + 6, last));
    right_low[3] = b_load(right + min(column + 3, last));
    right_high[3] = b_load(right + min(column + 7, last));
    right += row_stride;
    float value0 = a_load(left0 + k);
    low0 += value0 * right_low;
    high0 += value0 * right_high;
    float value1 = a_load(left1 + k);
    low1 += value1 * right_low;
    high1 += value1 * right_high;
    float value2 = a_load(left2 + k);
    low2 += value2 * right_low;
    high2 += value2 * right_high;
    float value3 = a_load(left3 + k);
    low3 += value3 * right_low;
    high3 += value3 * right_high;
    float value4 = a_load(left4 + k);
    low4 += value4 * right_low;
    high4 += value4 * right_high;
    float value5 = a_load(left5 + k);
    low5 += value5 * right_low;
    high5 += value5 * right_high;
    float value6 = a_load(left6 + k);
    low6 += value6 * right_low;
    high6 += value6 * right_high;
    float value7 = a_load(left7 + k);
    low7 += value7 * right_low;
    high7 += value7 * right_high;
  }
  // Loop with one copy of the epilogue: unrolled, it would dominate the module size.
  vec4 low[8];
  vec4 high[8];
  low[0] = low0;
  high[0] = high0;
  low[1] = low1;
  high[1] = high1;
  low[2] = low2;
  high[2] = high2;
  low[3] = low3;
  high[3] = high3;
  low[4] = low4;
  high[4] = high4;
  low[5] = low5;
  high[5] = high5;
  low[6] = low6;
  high[6] = high6;
  low[7] = low7;
  high[7] = high7;
  for (int r = 0; r < min(8, row_count - row); r++) {
    store(ivec2(batch, row + r), column, low[r]);
    store(ivec2(batch, row + r), column + 4, high[r]);
  }
}
