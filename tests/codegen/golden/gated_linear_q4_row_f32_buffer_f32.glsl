#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

shared float partial[512];  // [row][which of the two columns][lane]
shared vec4 normed_row[NORMED_FOURS];

void main() {
  int lane = int(gl_LocalInvocationID.x);
  int first = 8 * workgroup_number();
  bool inside = first < columns;
  int steps = depth / STEP;
  int column0 = (inside ? first : 0) + lane % 8;
  int column1 = min(column0, columns - 1) + columns;
  int weights0 = column0 / 32 * steps * 32 + column0 % 32;
  int weights1 = column1 / 32 * steps * 32 + column1 % 32;
  vec2 sum0 = vec2(0.0);
  int row0 = min(0, row_count - 1) * depth / 8;
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
      normed_row[2 * eight0] = low0 * low_norm0 * scale;
      normed_row[2 * eight0 + 1] = high0 * high_norm0 * scale;
    }
    if (lane + 256 < depth / 8) {
      normed_row[2 * eight1] = low1 * low_norm1 * scale;
      normed_row[2 * eight1 + 1] = high1 * high_norm1 * scale;
    }
    barrier();
  }
  for (int step = lane / 8; step < steps; step += 64) {
    int step0 = step;
    ivec4 words00 = weight_at4(weights0 + step0 * 32);
    int group00 = group_at(step0 * STEP, column0);
    float scale00 = scales_at(group00);
    float zero00 = zero_of(group00);
    float offset00 = offset_of(group00);
    ivec4 words01 = weight_at4(weights1 + step0 * 32);
    int group01 = group_at(step0 * STEP, column1);
    float scale01 = scales_at(group01);
    float zero01 = zero_of(group01);
    float offset01 = offset_of(group01);
    int step1 = min(step + 32, steps - 1);
    ivec4 words10 = weight_at4(weights0 + step1 * 32);
    int group10 = group_at(step1 * STEP, column0);
    float scale10 = step + 32 < steps ? scales_at(group10) : 0.0;
    float zero10 = zero_of(group10);
    float offset10 = step + 32 < steps ? offset_of(group10) : 0.0;
    ivec4 words11 = weight_at4(weights1 + step1 * 32);
    int group11 = group_at(step1 * STEP, column1);
    float scale11 = step + 32 < steps ? scales_at(group11) : 0.0;
    float zero11 = zero_of(group11);
    float offset11 = step + 32 < steps ? offset_of(group11) : 0.0;
    vec4 dot000 = vec4(0.0);
    vec4 dot001 = vec4(0.0);
    vec4 total00 = vec4(0.0);  // of x
    {
      vec4 low0 = numbers(words00, 0, zero00);
      vec4 high0 = numbers(words00, 1, zero00);
      vec4 low1 = numbers(words01, 0, zero01);
      vec4 high1 = numbers(words01, 1, zero01);
      vec4 x_low, x_high;
      if (HAS_NORM) {
        x_low = normed_row[2 * (step0 * (STEP / 8) + 0)];
        x_high = normed_row[2 * (step0 * (STEP / 8) + 0) + 1];
      } else {
        x_at8(row0 + step0 * (STEP / 8) + 0, x_low, x_high);
      }
      if (HAS_OFFSETS) total00 += x_low + x_high;
      dot000 += x_low * low0 + x_high * high0;
      dot001 += x_low * low1 + x_high * high1;
    }
    {
      vec4 low0 = numbers(words00, 2, zero00);
      vec4 high0 = numbers(words00, 3, zero00);
      vec4 low1 = numbers(words01, 2, zero01);
      vec4 high1 = numbers(words01, 3, zero01);
      vec4 x_low, x_high;
      if (HAS_NORM) {
        x_low = normed_row[2 * (step0 * (STEP / 8) + 1)];
        x_high = normed_row[2 * (step0 * (STEP / 8) + 1) + 1];
      } else {
        x_at8(row0 + step0 * (STEP / 8) + 1, x_low, x_high);
      }
      if (HAS_OFFSETS) total00 += x_low + x_high;
      dot000 += x_low * low0 + x_high * high0;
      dot001 += x_low * low1 + x_high * high1;
    }
    {
      vec4 low0 = numbers(words00, 4, zero00);
      vec4 high0 = numbers(words00, 5, zero00);
      vec4 low1 = numbers(words01, 4, zero01);
      vec4 high1 = numbers(words01, 5, zero01);
      vec4 x_low, x_high;
      if (HAS_NORM) {
        x_low = normed_row[2 * (step0 * (STEP / 8) + 2)];
        x_high = normed_row[2 * (step0 * (STEP / 8) + 2) + 1];
      } else {
        x_at8(row0 + step0 * (STEP / 8) + 2, x_low, x_high);
      }
      if (HAS_OFFSETS) total00 += x_low + x_high;
      dot000 += x_low * low0 + x_high * high0;
      dot001 += x_low * low1 + x_high * high1;
    }
    {
      vec4 low0 = numbers(words00, 6, zero00);
      vec4 high0 = numbers(words00, 7, zero00);
      vec4 low1 = numbers(words01, 6, zero01);
      vec4 high1 = numbers(words01, 7, zero01);
      vec4 x_low, x_high;
      if (HAS_NORM) {
        x_low = normed_row[2 * (step0 * (STEP / 8) + 3)];
        x_high = normed_row[2 * (step0 * (STEP / 8) + 3) + 1];
      } else {
        x_at8(row0 + step0 * (STEP / 8) + 3, x_low, x_high);
      }
      if (HAS_OFFSETS) total00 += x_low + x_high;
      dot000 += x_low * low0 + x_high * high0;
      dot001 += x_low * low1 + x_high * high1;
    }
    sum0 += vec2(scale00 * dot(dot000, vec4(1.0)), scale01 * dot(dot001, vec4(1.0)));
    if (HAS_OFFSETS) sum0 += vec2(offset00, offset01) * dot(total00, vec4(1.0));
    vec4 dot100 = vec4(0.0);
    vec4 dot101 = vec4(0.0);
    vec4 total10 = vec4(0.0);  // of x
    {
      vec4 low0 = numbers(words10, 0, zero10);
      vec4 high0 = numbers(words10, 1, zero10);
      vec4 low1 = numbers(words11, 0, zero11);
      vec4 high1 = numbers(words11, 1, zero11);
      vec4 x_low, x_high;
      if (HAS_NORM) {
        x_low = normed_row[2 * (step1 * (STEP / 8) + 0)];
        x_high = normed_row[2 * (step1 * (STEP / 8) + 0) + 1];
      } else {
        x_at8(row0 + step1 * (STEP / 8) + 0, x_low, x_high);
      }
      if (HAS_OFFSETS) total10 += x_low + x_high;
      dot100 += x_low * low0 + x_high * high0;
      dot101 += x_low * low1 + x_high * high1;
    }
    {
      vec4 low0 = numbers(words10, 2, zero10);
      vec4 high0 = numbers(words10, 3, zero10);
      vec4 low1 = numbers(words11, 2, zero11);
      vec4 high1 = numbers(words11, 3, zero11);
      vec4 x_low, x_high;
      if (HAS_NORM) {
        x_low = normed_row[2 * (step1 * (STEP / 8) + 1)];
        x_high = normed_row[2 * (step1 * (STEP / 8) + 1) + 1];
      } else {
        x_at8(row0 + step1 * (STEP / 8) + 1, x_low, x_high);
      }
      if (HAS_OFFSETS) total10 += x_low + x_high;
      dot100 += x_low * low0 + x_high * high0;
      dot101 += x_low * low1 + x_high * high1;
    }
    {
      vec4 low0 = numbers(words10, 4, zero10);
      vec4 high0 = numbers(words10, 5, zero10);
      vec4 low1 = numbers(words11, 4, zero11);
      vec4 high1 = numbers(words11, 5, zero11);
      vec4 x_low, x_high;
      if (HAS_NORM) {
        x_low = normed_row[2 * (step1 * (STEP / 8) + 2)];
        x_high = normed_row[2 * (step1 * (STEP / 8) + 2) + 1];
      } else {
        x_at8(row0 + step1 * (STEP / 8) + 2, x_low, x_high);
      }
      if (HAS_OFFSETS) total10 += x_low + x_high;
      dot100 += x_low * low0 + x_high * high0;
      dot101 += x_low * low1 + x_high * high1;
    }
    {
      vec4 low0 = numbers(words10, 6, zero10);
      vec4 high0 = numbers(words10, 7, zero10);
      vec4 low1 = numbers(words11, 6, zero11);
      vec4 high1 = numbers(words11, 7, zero11);
      vec4 x_low, x_high;
      if (HAS_NORM) {
        x_low = normed_row[2 * (step1 * (STEP / 8) + 3)];
        x_high = normed_row[2 * (step1 * (STEP / 8) + 3) + 1];
      } else {
        x_at8(row0 + step1 * (STEP / 8) + 3, x_low, x_high);
      }
      if (HAS_OFFSETS) total10 += x_low + x_high;
      dot100 += x_low * low0 + x_high * high0;
      dot101 += x_low * low1 + x_high * high1;
    }
    sum0 += vec2(scale10 * dot(dot100, vec4(1.0)), scale11 * dot(dot101, vec4(1.0)));
    if (HAS_OFFSETS) sum0 += vec2(offset10, offset11) * dot(total10, vec4(1.0));
  }
  partial[0 + lane] = sum0.x;
  partial[256 + lane] = sum0.y;
  barrier();
  int row = lane / 8;
  int column = first + lane % 8;
  if (row >= row_count || row >= 1 || column >= columns) return;
  int from = 2 * row * 256 + lane % 8;
  float sum = 0.0;
  for (int part = 0; part < 32; part++) sum += partial[from + 8 * part];
  int i = row * columns + column;
  float value = finish(sum + (has_bias != 0 ? bias_at(column) : 0.0), i);
  float other = 0.0;
  for (int part = 0; part < 32; part++) other += partial[from + 256 + 8 * part];
  value *= other + (has_bias != 0 ? bias_at(columns + column) : 0.0);
  y_put(i, value);
}
