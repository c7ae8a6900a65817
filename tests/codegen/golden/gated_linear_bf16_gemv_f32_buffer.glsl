#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

shared float partial[512];  // [row][column of the lane][lane]
#define ZeroPoint float
#define ZERO_POINT(zero) zero
#define FACTOR(scale, g) scales_unpack(scale, g)
#define STORE_NORMALIZED(i, low, high) \
  normalized_row[2 * i] = low; \
  normalized_row[2 * i + 1] = high;
// The normalized row replaces x. A row that exceeds the shared memory is normalized on each load.
const bool IS_ROW_CACHED = RMS_NORM_VEC4S > 1;
shared vec4 normalized_row[RMS_NORM_VEC4S];
float row_scale;

void load_normalized8(int i, out vec4 low, out vec4 high) {
  vec4 low_norm, high_norm;
  x_load8(i, low, high);
  rms_weight_load8(i, low_norm, high_norm);
  low *= low_norm * row_scale;
  high *= high_norm * row_scale;
}

#define ROW_LOAD8(row, i, low, high) \
  if (!HAS_RMS_NORM) { \
    x_load8(row + i, low, high); \
  } else if (IS_ROW_CACHED) { \
    low = normalized_row[2 * i]; \
    high = normalized_row[2 * i + 1]; \
  } else { \
    load_normalized8(i, low, high); \
  }

// Weight row of the invocation's column `c`.
int column_of(int first, int c) {
  int column = first + c % 1 * 16 + int(gl_LocalInvocationID.x) % 16;
  return min(column, columns - 1) + c / 1 * columns;
}

void main() {
  int lane = int(gl_LocalInvocationID.x);
  int first = 16 * workgroup_index();
  bool inside = first < columns;
  int steps = depth / STEP;
  int row0 = min(0, row_count - 1) * depth / 8;
  int column0 = column_of(inside ? first : 0, 0);
  int weights0 = column0 / 32 * steps * 32 + column0 % 32;
  float sum00 = 0.0;
  int column1 = column_of(inside ? first : 0, 1);
  int weights1 = column1 / 32 * steps * 32 + column1 % 32;
  float sum01 = 0.0;
  ivec4 next_words0;
  int next_group0;
  scales_Packed next_scale0;
  float next_zero_point0;
  ivec4 next_words1;
  int next_group1;
  scales_Packed next_scale1;
  float next_zero_point1;
  if (lane / 16 < steps) {
    next_words0 = weight_load4(weights0 + (lane / 16) * 32);
    next_words1 = weight_load4(weights1 + (lane / 16) * 32);
    next_group0 = group_index((lane / 16) * STEP, column0);
    next_scale0 = scales_load_packed(next_group0);
    next_zero_point0 = zero_point_of(next_group0);
    next_group1 = group_index((lane / 16) * STEP, column1);
    next_scale1 = scales_load_packed(next_group1);
    next_zero_point1 = zero_point_of(next_group1);
  }

  if (HAS_RMS_NORM) {
    float squares = 0.0;
    int vec8_index0 = min(lane + 0, depth / 8 - 1);
    vec4 low0, high0, low_norm0, high_norm0;
    x_load8(vec8_index0, low0, high0);
    rms_weight_load8(vec8_index0, low_norm0, high_norm0);
    if (lane + 0 < depth / 8) squares += dot(low0, low0) + dot(high0, high0);
    int vec8_index1 = min(lane + 256, depth / 8 - 1);
    vec4 low1, high1, low_norm1, high_norm1;
    x_load8(vec8_index1, low1, high1);
    rms_weight_load8(vec8_index1, low_norm1, high_norm1);
    if (lane + 256 < depth / 8) squares += dot(low1, low1) + dot(high1, high1);
    for (int i = lane + 512; i < depth / 8; i += 256) {
      vec4 low, high;
      x_load8(i, low, high);
      squares += dot(low, low) + dot(high, high);
    }
    partial[gl_LocalInvocationID.x] = squares;
    barrier();
    if (int(gl_LocalInvocationID.x) < 16) {
      [[dont_unroll]] for (int i = 1; i < 16; i++) squares += partial[int(gl_LocalInvocationID.x) + 16 * i];
      partial[gl_LocalInvocationID.x] = squares;
    }
    barrier();
    squares = partial[0];
    [[dont_unroll]] for (int i = 1; i < 16; i++) squares += partial[i];
    float scale = inversesqrt(squares / float(depth) + rms_eps_load(0));
    barrier();

    row_scale = scale;
    if (IS_ROW_CACHED) {
      if (lane + 0 < depth / 8) {
        vec4 low = low0 * low_norm0 * scale;
        vec4 high = high0 * high_norm0 * scale;
        STORE_NORMALIZED(vec8_index0, low, high)
      }
      if (lane + 256 < depth / 8) {
        vec4 low = low1 * low_norm1 * scale;
        vec4 high = high1 * high_norm1 * scale;
        STORE_NORMALIZED(vec8_index1, low, high)
      }
      for (int i = lane + 512; i < depth / 8; i += 256) {
        vec4 low, high;
        load_normalized8(i, low, high);
        STORE_NORMALIZED(i, low, high)
      }
      barrier();
    }
  }
  for (int step = lane / 16; step < steps; step += 16) {
    ivec4 words0 = next_words0;
    int group0 = next_group0;
    scales_Packed scale0 = next_scale0;
    float zero_point0 = next_zero_point0;
    ZeroPoint zero0 = ZERO_POINT(zero_point0);
    float dot00 = 0.0;
    ivec4 words1 = next_words1;
    int group1 = next_group1;
    scales_Packed scale1 = next_scale1;
    float zero_point1 = next_zero_point1;
    ZeroPoint zero1 = ZERO_POINT(zero_point1);
    float dot01 = 0.0;
    float x_sum0 = 0.0;  // sum of x, for the offsets
  if (step + 16 < steps) {
    next_words0 = weight_load4(weights0 + (step + 16) * 32);
    next_words1 = weight_load4(weights1 + (step + 16) * 32);
    next_group0 = group_index((step + 16) * STEP, column0);
    next_scale0 = scales_load_packed(next_group0);
    next_zero_point0 = zero_point_of(next_group0);
    next_group1 = group_index((step + 16) * STEP, column1);
    next_scale1 = scales_load_packed(next_group1);
    next_zero_point1 = zero_point_of(next_group1);
  }

    {
      vec4 low0 = unpack_values(words0, 2 * 0, zero0);
      vec4 high0 = unpack_values(words0, 2 * 0 + 1, zero0);
      vec4 low1 = unpack_values(words1, 2 * 0, zero1);
      vec4 high1 = unpack_values(words1, 2 * 0 + 1, zero1);
      vec4 x_low, x_high;
      int vec8_index = step * (STEP / 8) + 0;
      ROW_LOAD8(row0, vec8_index, x_low, x_high)
      if (HAS_OFFSETS) x_sum0 += dot(x_low, vec4(1.0)) + dot(x_high, vec4(1.0));
      // Scalar fma, one instruction each; dot() of four and its addition take five.
      [[unroll]] for (int e = 0; e < 4; e++) dot00 += x_low[e] * low0[e];
      [[unroll]] for (int e = 0; e < 4; e++) dot00 += x_high[e] * high0[e];
      [[unroll]] for (int e = 0; e < 4; e++) dot01 += x_low[e] * low1[e];
      [[unroll]] for (int e = 0; e < 4; e++) dot01 += x_high[e] * high1[e];
    }

    float factor0 = FACTOR(scale0, group0);
    sum00 += factor0 * dot00;
    float factor1 = FACTOR(scale1, group1);
    sum01 += factor1 * dot01;
  }
  partial[0 + lane] = sum00;
  partial[256 + lane] = sum01;
  barrier();
  // Sums of a row and column by all lanes, if there are more lanes than sums; then of the results.
  const int SUMS = 32;
  const int PARTS = max(256 / SUMS, 1);
  if (PARTS > 1) {
    int terms = lane % SUMS / 16 * 256 + lane / SUMS * (256 / PARTS) + lane % 16;
    float part_sum = 0.0;
    [[unroll]] for (int s = 0; s < 16 / PARTS; s++) part_sum += partial[terms + 16 * s];
    barrier();
    partial[lane] = part_sum;
    barrier();
  }
  const int COUNT = PARTS > 1 ? PARTS : 16;
  const int STRIDE = PARTS > 1 ? SUMS : 16;
  const int COLUMN_STRIDE = PARTS > 1 ? 16 : 256;
  int row = lane / 16;
  int column = first + lane % 16;
  if (row >= row_count || row >= 1 || column >= columns) return;
  int terms = (2 * row + lane % 16 / 16) * COLUMN_STRIDE + lane % 16;
  float sum = 0.0;
  [[unroll]] for (int s = 0; s < COUNT; s++) sum += partial[terms + STRIDE * s];
  int i = row * columns + column;
  float value = finish(sum + (has_bias != 0 ? bias_load(column) : 0.0), i);
  float second_sum = 0.0;
  [[unroll]] for (int s = 0; s < COUNT; s++) second_sum += partial[terms + 1 * COLUMN_STRIDE + STRIDE * s];
  value *= second_sum + (has_bias != 0 ? bias_load(columns + column) : 0.0);
  y_store(i, value);
}
