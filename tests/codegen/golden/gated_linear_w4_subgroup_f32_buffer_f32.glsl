#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require

// Statements of gated layers.
#define IF_GATED(statement) statement

void main() {
  int row = cluster_index();
  int column = unravel(row, (columns + 7) / 8) * 8 + cluster_lane();
  row *= 1;
  int steps = depth / STEP;
  int word_index = min(column, (columns + 31) / 32 * 32 - 1) / 32 * steps * 32 + column % 32;
  IF_GATED(int second = min(column, columns - 1) + columns;)
  IF_GATED(int second_word_index = second / 32 * steps * 32 + second % 32;)
  int row0 = min(row + 0, row_count - 1) * depth / 4 + cluster_lane() % 8;
  float sum0 = 0.0;
  float sum1 = 0.0;
  float row_scale = 1.0;
  if (HAS_RMS_NORM) {
    float squares = 0.0;
    for (int k = cluster_lane(); k < depth / 4; k += 8) squares += dot(x_load4(k), x_load4(k));
    float total_squares = 0.0;
    for (int i = 0; i < 8; i++) total_squares += from_lane(squares, i);
    row_scale = inversesqrt(total_squares / float(depth) + rms_eps_load(0));
  }
  for (int step = 0; step < steps; step++) {
    ivec4 words = weight_load4(word_index + step * 32);
    int group = group_index(step * STEP, column);
    float scale = scales_load(group);
    float zero = zero_point_of(group);
    float offset = offset_of(group);
    vec4 vec4s0 = unpack_values(words, 0, zero);
    if (HAS_OFFSETS) vec4s0 = dequantize(vec4s0, scale, offset);
    vec4 vec4s1 = unpack_values(words, 1, zero);
    if (HAS_OFFSETS) vec4s1 = dequantize(vec4s1, scale, offset);
    vec4 vec4s2 = unpack_values(words, 2, zero);
    if (HAS_OFFSETS) vec4s2 = dequantize(vec4s2, scale, offset);
    vec4 vec4s3 = unpack_values(words, 3, zero);
    if (HAS_OFFSETS) vec4s3 = dequantize(vec4s3, scale, offset);
    vec4 vec4s4 = unpack_values(words, 4, zero);
    if (HAS_OFFSETS) vec4s4 = dequantize(vec4s4, scale, offset);
    vec4 vec4s5 = unpack_values(words, 5, zero);
    if (HAS_OFFSETS) vec4s5 = dequantize(vec4s5, scale, offset);
    vec4 vec4s6 = unpack_values(words, 6, zero);
    if (HAS_OFFSETS) vec4s6 = dequantize(vec4s6, scale, offset);
    vec4 vec4s7 = unpack_values(words, 7, zero);
    if (HAS_OFFSETS) vec4s7 = dequantize(vec4s7, scale, offset);
    if (HAS_OFFSETS) scale = 1.0;  // offsets are already added, once for all rows
    ivec4 second_words = weight_load4(second_word_index + step * 32);
    int second_group = group_index(step * STEP, second);
    float second_scale = scales_load(second_group);
    float second_zero = zero_point_of(second_group);
    float second_offset = offset_of(second_group);
    vec4 second_vec4s0 = unpack_values(second_words, 0, second_zero);
    if (HAS_OFFSETS) second_vec4s0 = dequantize(second_vec4s0, second_scale, second_offset);
    vec4 second_vec4s1 = unpack_values(second_words, 1, second_zero);
    if (HAS_OFFSETS) second_vec4s1 = dequantize(second_vec4s1, second_scale, second_offset);
    vec4 second_vec4s2 = unpack_values(second_words, 2, second_zero);
    if (HAS_OFFSETS) second_vec4s2 = dequantize(second_vec4s2, second_scale, second_offset);
    vec4 second_vec4s3 = unpack_values(second_words, 3, second_zero);
    if (HAS_OFFSETS) second_vec4s3 = dequantize(second_vec4s3, second_scale, second_offset);
    vec4 second_vec4s4 = unpack_values(second_words, 4, second_zero);
    if (HAS_OFFSETS) second_vec4s4 = dequantize(second_vec4s4, second_scale, second_offset);
    vec4 second_vec4s5 = unpack_values(second_words, 5, second_zero);
    if (HAS_OFFSETS) second_vec4s5 = dequantize(second_vec4s5, second_scale, second_offset);
    vec4 second_vec4s6 = unpack_values(second_words, 6, second_zero);
    if (HAS_OFFSETS) second_vec4s6 = dequantize(second_vec4s6, second_scale, second_offset);
    vec4 second_vec4s7 = unpack_values(second_words, 7, second_zero);
    if (HAS_OFFSETS) second_vec4s7 = dequantize(second_vec4s7, second_scale, second_offset);
    if (HAS_OFFSETS) second_scale = 1.0;  // offsets are already added, once for all rows
    {
      vec4 x = x_load4(row0 + step * 8);
      if (HAS_RMS_NORM) x *= row_scale * rms_weight_load4(cluster_lane() % 8 + step * 8);
      float partial = 0.0;
      IF_GATED(float second_partial = 0.0;)
      partial += dot(from_lane(x, 0), vec4s0);
      IF_GATED(second_partial += dot(from_lane(x, 0), second_vec4s0);)
      partial += dot(from_lane(x, 1), vec4s1);
      IF_GATED(second_partial += dot(from_lane(x, 1), second_vec4s1);)
      partial += dot(from_lane(x, 2), vec4s2);
      IF_GATED(second_partial += dot(from_lane(x, 2), second_vec4s2);)
      partial += dot(from_lane(x, 3), vec4s3);
      IF_GATED(second_partial += dot(from_lane(x, 3), second_vec4s3);)
      partial += dot(from_lane(x, 4), vec4s4);
      IF_GATED(second_partial += dot(from_lane(x, 4), second_vec4s4);)
      partial += dot(from_lane(x, 5), vec4s5);
      IF_GATED(second_partial += dot(from_lane(x, 5), second_vec4s5);)
      partial += dot(from_lane(x, 6), vec4s6);
      IF_GATED(second_partial += dot(from_lane(x, 6), second_vec4s6);)
      partial += dot(from_lane(x, 7), vec4s7);
      IF_GATED(second_partial += dot(from_lane(x, 7), second_vec4s7);)
      sum0 += scale * partial;
      IF_GATED(sum1 += second_scale * second_partial;)
    }
  }
  if (column >= columns) return;
  float value = finish(sum0 + (has_bias != 0 ? bias_load(column) : 0.0), column);
  y_store(column, value * (sum1 + (has_bias != 0 ? bias_load(second) : 0.0)));
}
