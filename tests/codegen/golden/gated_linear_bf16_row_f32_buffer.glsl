#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
  
shared float partial[512];  // [row][which of the columns][lane]
shared vec4 normed_row[NORMED_FOURS];

// Number `c` of the weight's rows that an invocation takes.
int column_of(int first, int c) {
  int column = first + c % 1 * 16 + int(gl_LocalInvocationID.x) % 16;
  return min(column, columns - 1) + c / 1 * columns;
}

void main() {
  int lane = int(gl_LocalInvocationID.x);
  int first = 16 * workgroup_number();
  bool inside = first < columns;
  int steps = depth / STEP;
  int row0 = min(0, row_count - 1) * depth / 8;
  int column0 = column_of(inside ? first : 0, 0);
  int weights0 = column0 / 32 * steps * 32 + column0 % 32;
  ivec4 words0;
  int group0;
  scales_Loaded scale0;
  float sum00 = 0.0;
  int column1 = column_of(inside ? first : 0, 1);
  int weights1 = column1 / 32 * steps * 32 + column1 % 32;
  ivec4 words1;
  int group1;
  scales_Loaded scale1;
  float sum01 = 0.0;
  if (lane / 16 < steps) {
    words0 = weight_at4(weights0 + (lane / 16) * 32);
    words1 = weight_at4(weights1 + (lane / 16) * 32);
    group0 = group_at((lane / 16) * STEP, column0);
    scale0 = scales_load(group0);
    group1 = group_at((lane / 16) * STEP, column1);
    scale1 = scales_load(group1);
  }

  if (HAS_NORM) {
    float squares = 0.0;
      int eight0 = min(lane + 0, depth / 8 - 1);
    vec4 low0, high0, low_norm0, high_norm0;
    x_at8(eight0, low0, high0);
    norm_at8(eight0, low_norm0, high_norm0);
    if (lane + 0 < depth / 8) squares += dot(low0, low0) + dot(high0, high0);
      int eight1 = min(lane + 256, depth / 8 - 1);
    vec4 low1, high1, low_norm1, high_norm1;
    x_at8(eight1, low1, high1);
    norm_at8(eight1, low_norm1, high_norm1);
    if (lane + 256 < depth / 8) squares += dot(low1, low1) + dot(high1, high1);
    partial[gl_LocalInvocationID.x] = squares;
    barrier();
    if (int(gl_LocalInvocationID.x) < 16) {
      [[unroll]] for (int i = 1; i < 16; i++) squares += partial[int(gl_LocalInvocationID.x) + 16 * i];
      partial[gl_LocalInvocationID.x] = squares;
    }
    barrier();
    squares = partial[0];
    [[unroll]] for (int i = 1; i < 16; i++) squares += partial[i];
    float scale = inversesqrt(squares / float(depth) + norm_eps_at(0));
    barrier();

    if (lane + 0 < depth / 8) {
      vec4 low = low0 * low_norm0 * scale;
      vec4 high = high0 * high_norm0 * scale;
      normed_row[2 * eight0] = low;
      normed_row[2 * eight0 + 1] = high;
    }
    if (lane + 256 < depth / 8) {
      vec4 low = low1 * low_norm1 * scale;
      vec4 high = high1 * high_norm1 * scale;
      normed_row[2 * eight1] = low;
      normed_row[2 * eight1 + 1] = high;
    }
    barrier();
  }
  for (int step = lane / 16; step < steps; step += 16) {
    float zero0 = zero_of(group0);
    float dot00 = 0.0;
    float zero1 = zero_of(group1);
    float dot01 = 0.0;
    float total0 = 0.0;  // of x
    {
      vec4 low0 = numbers(words0, 2 * 0, zero0);
      vec4 high0 = numbers(words0, 2 * 0 + 1, zero0);
      vec4 low1 = numbers(words1, 2 * 0, zero1);
      vec4 high1 = numbers(words1, 2 * 0 + 1, zero1);
      vec4 x_low, x_high;
      int eight = step * (STEP / 8) + 0;
      if (HAS_NORM) {
        x_low = normed_row[2 * eight];
        x_high = normed_row[2 * eight + 1];
      } else {
        x_at8(row0 + eight, x_low, x_high);
      }
      if (HAS_OFFSETS) total0 += dot(x_low, vec4(1.0)) + dot(x_high, vec4(1.0));
      // One by one: each is then one instruction, where dot() of four and their sum are five.
      [[unroll]] for (int e = 0; e < 4; e++) dot00 += x_low[e] * low0[e];
      [[unroll]] for (int e = 0; e < 4; e++) dot00 += x_high[e] * high0[e];
      [[unroll]] for (int e = 0; e < 4; e++) dot01 += x_low[e] * low1[e];
      [[unroll]] for (int e = 0; e < 4; e++) dot01 += x_high[e] * high1[e];
    }

    float factor0 = scales_open(scale0, group0);
    sum00 += factor0 * dot00;
    if (HAS_OFFSETS) sum00 += offset_of(group0) * total0;
    float factor1 = scales_open(scale1, group1);
    sum01 += factor1 * dot01;
    if (HAS_OFFSETS) sum01 += offset_of(group1) * total0;
  if (step + 16 < steps) {
    words0 = weight_at4(weights0 + (step + 16) * 32);
    words1 = weight_at4(weights1 + (step + 16) * 32);
    group0 = group_at((step + 16) * STEP, column0);
    scale0 = scales_load(group0);
    group1 = group_at((step + 16) * STEP, column1);
    scale1 = scales_load(group1);
  }

  }
  partial[0 + lane] = sum00;
  partial[256 + lane] = sum01;
  barrier();
  int row = lane / 16;
  int column = first + lane % 16;
  if (row >= row_count || row >= 1 || column >= columns) return;
  int from = (2 * row + lane % 16 / 16) * 256 + lane % 16;
  float sum = 0.0;
  for (int part = 0; part < 16; part++) sum += partial[from + 16 * part];
  int i = row * columns + column;
  float value = finish(sum + (has_bias != 0 ? bias_at(column) : 0.0), i);
  float other = 0.0;
  for (int part = 0; part < 16; part++) other += partial[from + 256 + 16 * part];
  value *= other + (has_bias != 0 ? bias_at(columns + column) : 0.0);
  y_put(i, value);
}
