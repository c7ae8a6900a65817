#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require
  #line 15 "templates/glsl/lib/prelude.glsl.j2"
layout(local_size_x = 8, local_size_y = 1, local_size_z = 1) in;
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
void main() {
  int row = cluster_number();
  int column = take(row, (columns + 7) / 8) * 8 + cluster_lane();
  row *= 1;
  int steps = depth / STEP;
  int words_at = min(column, (columns + 31) / 32 * 32 - 1) / 32 * steps * 32 + column % 32;
  int second = min(column, columns - 1) + columns;
  int second_words_at = second / 32 * steps * 32 + second % 32;
  int row0 = min(row + 0, row_count - 1) * depth / 4 + cluster_lane() % 8;
  float sum0 = 0.0;
  float sum1 = 0.0;
  float root = 1.0;
  if (HAS_NORM) {
    float squares = 0.0;
    for (int k = cluster_lane(); k < depth / 4; k += 8) squares += dot(x_at4(k), x_at4(k));
    float all = 0.0;
    for (int i = 0; i < 8; i++) all += from_lane(squares, i);
    root = inversesqrt(all / float(depth) + norm_eps_at(0));
  }
  for (int step = 0; step < steps; step++) {
    ivec4 words = weight_at4(words_at + step * 32);
    int group = group_at(step * STEP, column);
    float scale = scales_at(group);
    float zero = zero_of(group);
    float offset = offset_of(group);
    vec4 fours0 = numbers(words, 0, zero);
    if (HAS_OFFSETS) fours0 = scaled(fours0, scale, offset);
    vec4 fours1 = numbers(words, 1, zero);
    if (HAS_OFFSETS) fours1 = scaled(fours1, scale, offset);
    vec4 fours2 = numbers(words, 2, zero);
    if (HAS_OFFSETS) fours2 = scaled(fours2, scale, offset);
    vec4 fours3 = numbers(words, 3, zero);
    if (HAS_OFFSETS) fours3 = scaled(fours3, scale, offset);
    vec4 fours4 = numbers(words, 4, zero);
    if (HAS_OFFSETS) fours4 = scaled(fours4, scale, offset);
    vec4 fours5 = numbers(words, 5, zero);
    if (HAS_OFFSETS) fours5 = scaled(fours5, scale, offset);
    vec4 fours6 = numbers(words, 6, zero);
    if (HAS_OFFSETS) fours6 = scaled(fours6, scale, offset);
    vec4 fours7 = numbers(words, 7, zero);
    if (HAS_OFFSETS) fours7 = scaled(fours7, scale, offset);
    if (HAS_OFFSETS) scale = 1.0;  // offsets are added before numbers are summed, once for all rows
    ivec4 second_words = weight_at4(second_words_at + step * 32);
    int second_group = group_at(step * STEP, second);
    float second_scale = scales_at(second_group);
    float second_zero = zero_of(second_group);
    float second_offset = offset_of(second_group);
    vec4 second_fours0 = numbers(second_words, 0, second_zero);
    if (HAS_OFFSETS) second_fours0 = scaled(second_fours0, second_scale, second_offset);
    vec4 second_fours1 = numbers(second_words, 1, second_zero);
    if (HAS_OFFSETS) second_fours1 = scaled(second_fours1, second_scale, second_offset);
    vec4 second_fours2 = numbers(second_words, 2, second_zero);
    if (HAS_OFFSETS) second_fours2 = scaled(second_fours2, second_scale, second_offset);
    vec4 second_fours3 = numbers(second_words, 3, second_zero);
    if (HAS_OFFSETS) second_fours3 = scaled(second_fours3, second_scale, second_offset);
    vec4 second_fours4 = numbers(second_words, 4, second_zero);
    if (HAS_OFFSETS) second_fours4 = scaled(second_fours4, second_scale, second_offset);
    vec4 second_fours5 = numbers(second_words, 5, second_zero);
    if (HAS_OFFSETS) second_fours5 = scaled(second_fours5, second_scale, second_offset);
    vec4 second_fours6 = numbers(second_words, 6, second_zero);
    if (HAS_OFFSETS) second_fours6 = scaled(second_fours6, second_scale, second_offset);
    vec4 second_fours7 = numbers(second_words, 7, second_zero);
    if (HAS_OFFSETS) second_fours7 = scaled(second_fours7, second_scale, second_offset);
    if (HAS_OFFSETS) second_scale = 1.0;  // offsets are added before numbers are summed, once for all rows
    {
      vec4 x = x_at4(row0 + step * 8);
      if (HAS_NORM) x *= root * norm_at4(cluster_lane() % 8 + step * 8);
      float part = 0.0;
      float second_part = 0.0;
      part += dot(from_lane(x, 0), fours0);
      second_part += dot(from_lane(x, 0), second_fours0);
      part += dot(from_lane(x, 1), fours1);
      second_part += dot(from_lane(x, 1), second_fours1);
      part += dot(from_lane(x, 2), fours2);
      second_part += dot(from_lane(x, 2), second_fours2);
      part += dot(from_lane(x, 3), fours3);
      second_part += dot(from_lane(x, 3), second_fours3);
      part += dot(from_lane(x, 4), fours4);
      second_part += dot(from_lane(x, 4), second_fours4);
      part += dot(from_lane(x, 5), fours5);
      second_part += dot(from_lane(x, 5), second_fours5);
      part += dot(from_lane(x, 6), fours6);
      second_part += dot(from_lane(x, 6), second_fours6);
      part += dot(from_lane(x, 7), fours7);
      second_part += dot(from_lane(x, 7), second_fours7);
      sum0 += scale * part;
      sum1 += second_scale * second_part;
    }
  }
  if (column >= columns) return;
  float value = finish(sum0 + (has_bias != 0 ? bias_at(column) : 0.0), column);
  y_put(column, value * (sum1 + (has_bias != 0 ? bias_at(second) : 0.0)));
}
