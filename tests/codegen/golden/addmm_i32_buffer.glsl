#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void store(ivec2 place, int column, ivec4 sum) {
  int first = (place.x * row_count + place.y) * columns;
  for (int lane = 0; lane < min(4, columns - column); lane++) {
    y_put(first + column + lane, with_addend(sum[lane], ivec3(place, column + lane)));
  }
}

void main() {
  int tiles = (columns + 7) / 8;
  int row_tiles = (row_count + 7) / 8;
  int batch = flat_index();
  int column = take(batch, tiles) * 8;
  int row = take(batch, row_tiles) * 8;
  if (batch >= batches) return;
  ivec2 from = ivec2(batch);
  int left0 = (from.x * row_count + min(row + 0, row_count - 1)) * depth;
  ivec4 low0 = ivec4(0);
  ivec4 high0 = ivec4(0);
  int left1 = (from.x * row_count + min(row + 1, row_count - 1)) * depth;
  ivec4 low1 = ivec4(0);
  ivec4 high1 = ivec4(0);
  int left2 = (from.x * row_count + min(row + 2, row_count - 1)) * depth;
  ivec4 low2 = ivec4(0);
  ivec4 high2 = ivec4(0);
  int left3 = (from.x * row_count + min(row + 3, row_count - 1)) * depth;
  ivec4 low3 = ivec4(0);
  ivec4 high3 = ivec4(0);
  int left4 = (from.x * row_count + min(row + 4, row_count - 1)) * depth;
  ivec4 low4 = ivec4(0);
  ivec4 high4 = ivec4(0);
  int left5 = (from.x * row_count + min(row + 5, row_count - 1)) * depth;
  ivec4 low5 = ivec4(0);
  ivec4 high5 = ivec4(0);
  int left6 = (from.x * row_count + min(row + 6, row_count - 1)) * depth;
  ivec4 low6 = ivec4(0);
  ivec4 high6 = ivec4(0);
  int left7 = (from.x * row_count + min(row + 7, row_count - 1)) * depth;
  ivec4 low7 = ivec4(0);
  ivec4 high7 = ivec4(0);
  int line = columns;
  int right = from.y * depth * columns;
  int last = columns - 1;
  for (int k = 0; k < depth; k++) {
    ivec4 right_low, right_high;
    right_low[0] = b_at(right + min(column + 0, last));
    right_high[0] = b_at(right + min(column + 4, last));
    right_low[1] = b_at(right + min(column + 1, last));
    right_high[1] = b_at(right + min(column + 5, last));
    right_low[2] = b_at(right + min(column + 2, last));
    right_high[2] = b_at(right + min(column + 6, last));
    right_low[3] = b_at(right + min(column + 3, last));
    right_high[3] = b_at(right + min(column + 7, last));
    right += line;
    int value0 = a_at(left0 + k);
    low0 += value0 * right_low;
    high0 += value0 * right_high;
    int value1 = a_at(left1 + k);
    low1 += value1 * right_low;
    high1 += value1 * right_high;
    int value2 = a_at(left2 + k);
    low2 += value2 * right_low;
    high2 += value2 * right_high;
    int value3 = a_at(left3 + k);
    low3 += value3 * right_low;
    high3 += value3 * right_high;
    int value4 = a_at(left4 + k);
    low4 += value4 * right_low;
    high4 += value4 * right_high;
    int value5 = a_at(left5 + k);
    low5 += value5 * right_low;
    high5 += value5 * right_high;
    int value6 = a_at(left6 + k);
    low6 += value6 * right_low;
    high6 += value6 * right_high;
    int value7 = a_at(left7 + k);
    low7 += value7 * right_low;
    high7 += value7 * right_high;
  }
  // One copy of the epilogue: unrolled, it would be most of the module.
  ivec4 low[8];
  ivec4 high[8];
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
