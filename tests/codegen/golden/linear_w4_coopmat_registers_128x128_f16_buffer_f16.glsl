#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_NV_cooperative_matrix : require
layout(set = 0, binding = 0, std430) readonly buffer left_vec8s { uvec4 left_data[]; };
layout(set = 0, binding = 1, std430) readonly buffer right_words { uint right_data[]; };

// Eight fp16 values each: the left tile, with rows padded by one, then a matrix of each subgroup for
// the exchange of elements; later 16 rows of each subgroup tile of y.
shared uvec4 tiles[1088];
// By 32 of K and column; a lane's columns, which are 8 apart in a subgroup tile, are consecutive.
shared f16vec4 tile_scales[32];
shared f16vec4 tile_zeros[32];
shared f16vec4 tile_offsets[32];

int batch = workgroup_index();
int row, column;  // origin of the tile
int left_start, right_start;  // offsets of the operands


// Two weights of a word, which is one of eight: elements `pair` and `pair` + 4.
uint weight_pair(uint word, int pair, float16_t zero, float16_t scale, float16_t offset) {
  uint low = pair < 2 ? word : word >> 8;
  if (pair % 2 == 0) return packFloat2x16(dequantize_f16x2(low, 0x000f000fu, float16_t(1.0), zero, scale, offset));
  return packFloat2x16(dequantize_f16x2(low, 0x00f000f0u, float16_t(0.0625), zero, scale, offset));
}

void main() {
  int group = coopmat_subgroup();
  int subgroup_row = group % 2 * 64;
  int subgroup_column = group / 2 * 64;
  CoopMatC sum0_0 = COOPMAT_ZERO;
  CoopMatC sum0_1 = COOPMAT_ZERO;
  CoopMatC sum0_2 = COOPMAT_ZERO;
  CoopMatC sum0_3 = COOPMAT_ZERO;
  CoopMatC sum1_0 = COOPMAT_ZERO;
  CoopMatC sum1_1 = COOPMAT_ZERO;
  CoopMatC sum1_2 = COOPMAT_ZERO;
  CoopMatC sum1_3 = COOPMAT_ZERO;
  CoopMatC sum2_0 = COOPMAT_ZERO;
  CoopMatC sum2_1 = COOPMAT_ZERO;
  CoopMatC sum2_2 = COOPMAT_ZERO;
  CoopMatC sum2_3 = COOPMAT_ZERO;
  CoopMatC sum3_0 = COOPMAT_ZERO;
  CoopMatC sum3_1 = COOPMAT_ZERO;
  CoopMatC sum3_2 = COOPMAT_ZERO;
  CoopMatC sum3_3 = COOPMAT_ZERO;

  int exchange = 640 + 32 * group;
  // This invocation's rows, columns and blocks, clamped to the operands.
  int left_row0 = left_start + min(row + lane / 4 + 0, row_count - 1) * depth + lane % 4 * 8;
  uvec4 left0;
  int left_row1 = left_start + min(row + lane / 4 + 32, row_count - 1) * depth + lane % 4 * 8;
  uvec4 left1;
  int left_row2 = left_start + min(row + lane / 4 + 64, row_count - 1) * depth + lane % 4 * 8;
  uvec4 left2;
  int left_row3 = left_start + min(row + lane / 4 + 96, row_count - 1) * depth + lane % 4 * 8;
  uvec4 left3;
  int weight_at0 = min((column + subgroup_column) / 32 + 0, (columns - 1) / 32) * depth * 4 + coopmat_lane();
  int weight_at1 = min((column + subgroup_column) / 32 + 1, (columns - 1) / 32) * depth * 4 + coopmat_lane();
  int stored_scale = lane / 64 * 64 + lane % 8 * 8 + lane % 64 / 8;
  uint word0_0;
  uint word0_1;
  uint word0_2;
  uint word0_3;
  uint word0_4;
  uint word0_5;
  uint word0_6;
  uint word0_7;
  float16_t scale0, zero0, offset0;
  uvec4 interleaved, pairs;
  int scale_group;
    left0 = left_data[(left_row0 + 0) / 8];
    left1 = left_data[(left_row1 + 0) / 8];
    left2 = left_data[(left_row2 + 0) / 8];
    left3 = left_data[(left_row3 + 0) / 8];
    word0_0 = right_data[weight_at0 + 0 + (0 + 0) * 4];
    word0_1 = right_data[weight_at0 + 32 + (0 + 0) * 4];
    word0_2 = right_data[weight_at0 + 64 + (0 + 0) * 4];
    word0_3 = right_data[weight_at0 + 96 + (0 + 0) * 4];
    word0_4 = right_data[weight_at1 + 0 + (0 + 0) * 4];
    word0_5 = right_data[weight_at1 + 32 + (0 + 0) * 4];
    word0_6 = right_data[weight_at1 + 64 + (0 + 0) * 4];
    word0_7 = right_data[weight_at1 + 96 + (0 + 0) * 4];
    scale_group = group_index(0 + (lane + 0) / 128 * 32, min(column + (lane + 0) % 128, columns - 1));
    scale0 = float16_t(scales_load(scale_group));
    zero0 = float16_t(zero_point_of(scale_group));
    offset0 = float16_t(offset_of(scale_group));

  bool quad_layout = coopmat_right_has_quad_layout(exchange);
  for (int k = 0; k < depth; k += 32) {
    barrier();
    interleaved = interleave_f16x8(left0);
    [[unroll]] for (int w = 0; w < 4; w++) tiles[(lane / 4 + 0) * 5 + lane % 4 / 4 * 4 + w][lane % 4] = interleaved[w];
    interleaved = interleave_f16x8(left1);
    [[unroll]] for (int w = 0; w < 4; w++) tiles[(lane / 4 + 32) * 5 + lane % 4 / 4 * 4 + w][lane % 4] = interleaved[w];
    interleaved = interleave_f16x8(left2);
    [[unroll]] for (int w = 0; w < 4; w++) tiles[(lane / 4 + 64) * 5 + lane % 4 / 4 * 4 + w][lane % 4] = interleaved[w];
    interleaved = interleave_f16x8(left3);
    [[unroll]] for (int w = 0; w < 4; w++) tiles[(lane / 4 + 96) * 5 + lane % 4 / 4 * 4 + w][lane % 4] = interleaved[w];
    tile_scales[stored_scale / 4 + 0][stored_scale % 4] = scale0;
    if (HAS_ZEROS) tile_zeros[stored_scale / 4 + 0][stored_scale % 4] = zero0;
    if (HAS_OFFSETS) tile_offsets[stored_scale / 4 + 0][stored_scale % 4] = offset0;
    uint current0_0 = word0_0;
    uint current0_1 = word0_1;
    uint current0_2 = word0_2;
    uint current0_3 = word0_3;
    uint current0_4 = word0_4;
    uint current0_5 = word0_5;
    uint current0_6 = word0_6;
    uint current0_7 = word0_7;
    barrier();
    if (k + 32 < depth) {
      int next_k = k + 32;
    left0 = left_data[(left_row0 + next_k) / 8];
    left1 = left_data[(left_row1 + next_k) / 8];
    left2 = left_data[(left_row2 + next_k) / 8];
    left3 = left_data[(left_row3 + next_k) / 8];
    word0_0 = right_data[weight_at0 + 0 + (next_k + 0) * 4];
    word0_1 = right_data[weight_at0 + 32 + (next_k + 0) * 4];
    word0_2 = right_data[weight_at0 + 64 + (next_k + 0) * 4];
    word0_3 = right_data[weight_at0 + 96 + (next_k + 0) * 4];
    word0_4 = right_data[weight_at1 + 0 + (next_k + 0) * 4];
    word0_5 = right_data[weight_at1 + 32 + (next_k + 0) * 4];
    word0_6 = right_data[weight_at1 + 64 + (next_k + 0) * 4];
    word0_7 = right_data[weight_at1 + 96 + (next_k + 0) * 4];
    scale_group = group_index(next_k + (lane + 0) / 128 * 32, min(column + (lane + 0) % 128, columns - 1));
    scale0 = float16_t(scales_load(scale_group));
    zero0 = float16_t(zero_point_of(scale_group));
    offset0 = float16_t(offset_of(scale_group));

    }
    f16vec4 column_scales[2], column_zeros[2], column_offsets[2];
    [[unroll]] for (int i = 0; i < 2; i++) {
      int at = i / 2 * 32 + subgroup_column / 4 + coopmat_lane() / 4 * 2 + i % 2;
      column_scales[i] = tile_scales[at];
      column_zeros[i] = HAS_ZEROS ? tile_zeros[at] : f16vec4(8.0);
      column_offsets[i] = HAS_OFFSETS ? tile_offsets[at] : f16vec4(0.0);
    }
    if (quad_layout) {
      {
        CoopMatA a0;
        coopmat_load_a(a0, (0 + subgroup_row) * 5 + 0, 5);
        CoopMatA a1;
        coopmat_load_a(a1, (16 + subgroup_row) * 5 + 0, 5);
        CoopMatA a2;
        coopmat_load_a(a2, (32 + subgroup_row) * 5 + 0, 5);
        CoopMatA a3;
        coopmat_load_a(a3, (48 + subgroup_row) * 5 + 0, 5);
        CoopMatB b0;
        pairs[0] = weight_pair(current0_0, 0, column_zeros[0][0], column_scales[0][0], column_offsets[0][0]);
        pairs[1] = weight_pair(current0_0, 1, column_zeros[0][0], column_scales[0][0], column_offsets[0][0]);
        pairs[2] = weight_pair(current0_1, 0, column_zeros[0][1], column_scales[0][1], column_offsets[0][1]);
        pairs[3] = weight_pair(current0_1, 1, column_zeros[0][1], column_scales[0][1], column_offsets[0][1]);
        b0[0] = unpackFloat2x16(pairs[0])[0];
        b0[1] = unpackFloat2x16(pairs[0])[1];
        b0[2] = unpackFloat2x16(pairs[1])[0];
        b0[3] = unpackFloat2x16(pairs[1])[1];
        b0[4] = unpackFloat2x16(pairs[2])[0];
        b0[5] = unpackFloat2x16(pairs[2])[1];
        b0[6] = unpackFloat2x16(pairs[3])[0];
        b0[7] = unpackFloat2x16(pairs[3])[1];
        coopmat_multiply_add(sum0_0, a0, b0);
        coopmat_multiply_add(sum1_0, a1, b0);
        coopmat_multiply_add(sum2_0, a2, b0);
        coopmat_multiply_add(sum3_0, a3, b0);
        CoopMatB b1;
        pairs[0] = weight_pair(current0_2, 0, column_zeros[0][2], column_scales[0][2], column_offsets[0][2]);
        pairs[1] = weight_pair(current0_2, 1, column_zeros[0][2], column_scales[0][2], column_offsets[0][2]);
        pairs[2] = weight_pair(current0_3, 0, column_zeros[0][3], column_scales[0][3], column_offsets[0][3]);
        pairs[3] = weight_pair(current0_3, 1, column_zeros[0][3], column_scales[0][3], column_offsets[0][3]);
        b1[0] = unpackFloat2x16(pairs[0])[0];
        b1[1] = unpackFloat2x16(pairs[0])[1];
        b1[2] = unpackFloat2x16(pairs[1])[0];
        b1[3] = unpackFloat2x16(pairs[1])[1];
        b1[4] = unpackFloat2x16(pairs[2])[0];
        b1[5] = unpackFloat2x16(pairs[2])[1];
        b1[6] = unpackFloat2x16(pairs[3])[0];
        b1[7] = unpackFloat2x16(pairs[3])[1];
        coopmat_multiply_add(sum0_1, a0, b1);
        coopmat_multiply_add(sum1_1, a1, b1);
        coopmat_multiply_add(sum2_1, a2, b1);
        coopmat_multiply_add(sum3_1, a3, b1);
        CoopMatB b2;
        pairs[0] = weight_pair(current0_4, 0, column_zeros[1][0], column_scales[1][0], column_offsets[1][0]);
        pairs[1] = weight_pair(current0_4, 1, column_zeros[1][0], column_scales[1][0], column_offsets[1][0]);
        pairs[2] = weight_pair(current0_5, 0, column_zeros[1][1], column_scales[1][1], column_offsets[1][1]);
        pairs[3] = weight_pair(current0_5, 1, column_zeros[1][1], column_scales[1][1], column_offsets[1][1]);
        b2[0] = unpackFloat2x16(pairs[0])[0];
        b2[1] = unpackFloat2x16(pairs[0])[1];
        b2[2] = unpackFloat2x16(pairs[1])[0];
        b2[3] = unpackFloat2x16(pairs[1])[1];
        b2[4] = unpackFloat2x16(pairs[2])[0];
        b2[5] = unpackFloat2x16(pairs[2])[1];
        b2[6] = unpackFloat2x16(pairs[3])[0];
        b2[7] = unpackFloat2x16(pairs[3])[1];
        coopmat_multiply_add(sum0_2, a0, b2);
        coopmat_multiply_add(sum1_2, a1, b2);
        coopmat_multiply_add(sum2_2, a2, b2);
        coopmat_multiply_add(sum3_2, a3, b2);
        CoopMatB b3;
        pairs[0] = weight_pair(current0_6, 0, column_zeros[1][2], column_scales[1][2], column_offsets[1][2]);
        pairs[1] = weight_pair(current0_6, 1, column_zeros[1][2], column_scales[1][2], column_offsets[1][2]);
        pairs[2] = weight_pair(current0_7, 0, column_zeros[1][3], column_scales[1][3], column_offsets[1][3]);
        pairs[3] = weight_pair(current0_7, 1, column_zeros[1][3], column_scales[1][3], column_offsets[1][3]);
        b3[0] = unpackFloat2x16(pairs[0])[0];
        b3[1] = unpackFloat2x16(pairs[0])[1];
        b3[2] = unpackFloat2x16(pairs[1])[0];
        b3[3] = unpackFloat2x16(pairs[1])[1];
        b3[4] = unpackFloat2x16(pairs[2])[0];
        b3[5] = unpackFloat2x16(pairs[2])[1];
        b3[6] = unpackFloat2x16(pairs[3])[0];
        b3[7] = unpackFloat2x16(pairs[3])[1];
        coopmat_multiply_add(sum0_3, a0, b3);
        coopmat_multiply_add(sum1_3, a1, b3);
        coopmat_multiply_add(sum2_3, a2, b3);
        coopmat_multiply_add(sum3_3, a3, b3);
      }
      {
        CoopMatA a0;
        coopmat_load_a(a0, (0 + subgroup_row) * 5 + 2, 5);
        CoopMatA a1;
        coopmat_load_a(a1, (16 + subgroup_row) * 5 + 2, 5);
        CoopMatA a2;
        coopmat_load_a(a2, (32 + subgroup_row) * 5 + 2, 5);
        CoopMatA a3;
        coopmat_load_a(a3, (48 + subgroup_row) * 5 + 2, 5);
        CoopMatB b0;
        pairs[0] = weight_pair(current0_0, 2, column_zeros[0][0], column_scales[0][0], column_offsets[0][0]);
        pairs[1] = weight_pair(current0_0, 3, column_zeros[0][0], column_scales[0][0], column_offsets[0][0]);
        pairs[2] = weight_pair(current0_1, 2, column_zeros[0][1], column_scales[0][1], column_offsets[0][1]);
        pairs[3] = weight_pair(current0_1, 3, column_zeros[0][1], column_scales[0][1], column_offsets[0][1]);
        b0[0] = unpackFloat2x16(pairs[0])[0];
        b0[1] = unpackFloat2x16(pairs[0])[1];
        b0[2] = unpackFloat2x16(pairs[1])[0];
        b0[3] = unpackFloat2x16(pairs[1])[1];
        b0[4] = unpackFloat2x16(pairs[2])[0];
        b0[5] = unpackFloat2x16(pairs[2])[1];
        b0[6] = unpackFloat2x16(pairs[3])[0];
        b0[7] = unpackFloat2x16(pairs[3])[1];
        coopmat_multiply_add(sum0_0, a0, b0);
        coopmat_multiply_add(sum1_0, a1, b0);
        coopmat_multiply_add(sum2_0, a2, b0);
        coopmat_multiply_add(sum3_0, a3, b0);
        CoopMatB b1;
        pairs[0] = weight_pair(current0_2, 2, column_zeros[0][2], column_scales[0][2], column_offsets[0][2]);
        pairs[1] = weight_pair(current0_2, 3, column_zeros[0][2], column_scales[0][2], column_offsets[0][2]);
        pairs[2] = weight_pair(current0_3, 2, column_zeros[0][3], column_scales[0][3], column_offsets[0][3]);
        pairs[3] = weight_pair(current0_3, 3, column_zeros[0][3], column_scales[0][3], column_offsets[0][3]);
        b1[0] = unpackFloat2x16(pairs[0])[0];
        b1[1] = unpackFloat2x16(pairs[0])[1];
        b1[2] = unpackFloat2x16(pairs[1])[0];
        b1[3] = unpackFloat2x16(pairs[1])[1];
        b1[4] = unpackFloat2x16(pairs[2])[0];
        b1[5] = unpackFloat2x16(pairs[2])[1];
        b1[6] = unpackFloat2x16(pairs[3])[0];
        b1[7] = unpackFloat2x16(pairs[3])[1];
        coopmat_multiply_add(sum0_1, a0, b1);
        coopmat_multiply_add(sum1_1, a1, b1);
        coopmat_multiply_add(sum2_1, a2, b1);
        coopmat_multiply_add(sum3_1, a3, b1);
        CoopMatB b2;
        pairs[0] = weight_pair(current0_4, 2, column_zeros[1][0], column_scales[1][0], column_offsets[1][0]);
        pairs[1] = weight_pair(current0_4, 3, column_zeros[1][0], column_scales[1][0], column_offsets[1][0]);
        pairs[2] = weight_pair(current0_5, 2, column_zeros[1][1], column_scales[1][1], column_offsets[1][1]);
        pairs[3] = weight_pair(current0_5, 3, column_zeros[1][1], column_scales[1][1], column_offsets[1][1]);
        b2[0] = unpackFloat2x16(pairs[0])[0];
        b2[1] = unpackFloat2x16(pairs[0])[1];
        b2[2] = unpackFloat2x16(pairs[1])[0];
        b2[3] = unpackFloat2x16(pairs[1])[1];
        b2[4] = unpackFloat2x16(pairs[2])[0];
        b2[5] = unpackFloat2x16(pairs[2])[1];
        b2[6] = unpackFloat2x16(pairs[3])[0];
        b2[7] = unpackFloat2x16(pairs[3])[1];
        coopmat_multiply_add(sum0_2, a0, b2);
        coopmat_multiply_add(sum1_2, a1, b2);
        coopmat_multiply_add(sum2_2, a2, b2);
        coopmat_multiply_add(sum3_2, a3, b2);
        CoopMatB b3;
        pairs[0] = weight_pair(current0_6, 2, column_zeros[1][2], column_scales[1][2], column_offsets[1][2]);
        pairs[1] = weight_pair(current0_6, 3, column_zeros[1][2], column_scales[1][2], column_offsets[1][2]);
        pairs[2] = weight_pair(current0_7, 2, column_zeros[1][3], column_scales[1][3], column_offsets[1][3]);
        pairs[3] = weight_pair(current0_7, 3, column_zeros[1][3], column_scales[1][3], column_offsets[1][3]);
        b3[0] = unpackFloat2x16(pairs[0])[0];
        b3[1] = unpackFloat2x16(pairs[0])[1];
        b3[2] = unpackFloat2x16(pairs[1])[0];
        b3[3] = unpackFloat2x16(pairs[1])[1];
        b3[4] = unpackFloat2x16(pairs[2])[0];
        b3[5] = unpackFloat2x16(pairs[2])[1];
        b3[6] = unpackFloat2x16(pairs[3])[0];
        b3[7] = unpackFloat2x16(pairs[3])[1];
        coopmat_multiply_add(sum0_3, a0, b3);
        coopmat_multiply_add(sum1_3, a1, b3);
        coopmat_multiply_add(sum2_3, a2, b3);
        coopmat_multiply_add(sum3_3, a3, b3);
      }

    } else {
      {
        CoopMatA a0;
        coopmat_load_a(a0, (0 + subgroup_row) * 5 + 0, 5);
        CoopMatA a1;
        coopmat_load_a(a1, (16 + subgroup_row) * 5 + 0, 5);
        CoopMatA a2;
        coopmat_load_a(a2, (32 + subgroup_row) * 5 + 0, 5);
        CoopMatA a3;
        coopmat_load_a(a3, (48 + subgroup_row) * 5 + 0, 5);
        CoopMatB b0;
        pairs[0] = weight_pair(current0_0, 0, column_zeros[0][0], column_scales[0][0], column_offsets[0][0]);
        pairs[1] = weight_pair(current0_0, 1, column_zeros[0][0], column_scales[0][0], column_offsets[0][0]);
        pairs[2] = weight_pair(current0_1, 0, column_zeros[0][1], column_scales[0][1], column_offsets[0][1]);
        pairs[3] = weight_pair(current0_1, 1, column_zeros[0][1], column_scales[0][1], column_offsets[0][1]);
        quad_store_f16(exchange, coopmat_lane() / 4, pairs);
        coopmat_barrier();
        coopmat_load_b_transposed(b0, exchange, 2);
        coopmat_barrier();
        coopmat_multiply_add(sum0_0, a0, b0);
        coopmat_multiply_add(sum1_0, a1, b0);
        coopmat_multiply_add(sum2_0, a2, b0);
        coopmat_multiply_add(sum3_0, a3, b0);
        CoopMatB b1;
        pairs[0] = weight_pair(current0_2, 0, column_zeros[0][2], column_scales[0][2], column_offsets[0][2]);
        pairs[1] = weight_pair(current0_2, 1, column_zeros[0][2], column_scales[0][2], column_offsets[0][2]);
        pairs[2] = weight_pair(current0_3, 0, column_zeros[0][3], column_scales[0][3], column_offsets[0][3]);
        pairs[3] = weight_pair(current0_3, 1, column_zeros[0][3], column_scales[0][3], column_offsets[0][3]);
        quad_store_f16(exchange, coopmat_lane() / 4, pairs);
        coopmat_barrier();
        coopmat_load_b_transposed(b1, exchange, 2);
        coopmat_barrier();
        coopmat_multiply_add(sum0_1, a0, b1);
        coopmat_multiply_add(sum1_1, a1, b1);
        coopmat_multiply_add(sum2_1, a2, b1);
        coopmat_multiply_add(sum3_1, a3, b1);
        CoopMatB b2;
        pairs[0] = weight_pair(current0_4, 0, column_zeros[1][0], column_scales[1][0], column_offsets[1][0]);
        pairs[1] = weight_pair(current0_4, 1, column_zeros[1][0], column_scales[1][0], column_offsets[1][0]);
        pairs[2] = weight_pair(current0_5, 0, column_zeros[1][1], column_scales[1][1], column_offsets[1][1]);
        pairs[3] = weight_pair(current0_5, 1, column_zeros[1][1], column_scales[1][1], column_offsets[1][1]);
        quad_store_f16(exchange, coopmat_lane() / 4, pairs);
        coopmat_barrier();
        coopmat_load_b_transposed(b2, exchange, 2);
        coopmat_barrier();
        coopmat_multiply_add(sum0_2, a0, b2);
        coopmat_multiply_add(sum1_2, a1, b2);
        coopmat_multiply_add(sum2_2, a2, b2);
        coopmat_multiply_add(sum3_2, a3, b2);
        CoopMatB b3;
        pairs[0] = weight_pair(current0_6, 0, column_zeros[1][2], column_scales[1][2], column_offsets[1][2]);
        pairs[1] = weight_pair(current0_6, 1, column_zeros[1][2], column_scales[1][2], column_offsets[1][2]);
        pairs[2] = weight_pair(current0_7, 0, column_zeros[1][3], column_scales[1][3], column_offsets[1][3]);
        pairs[3] = weight_pair(current0_7, 1, column_zeros[1][3], column_scales[1][3], column_offsets[1][3]);
        quad_store_f16(exchange, coopmat_lane() / 4, pairs);
        coopmat_barrier();
        coopmat_load_b_transposed(b3, exchange, 2);
        coopmat_barrier();
        coopmat_multiply_add(sum0_3, a0, b3);
        coopmat_multiply_add(sum1_3, a1, b3);
        coopmat_multiply_add(sum2_3, a2, b3);
        coopmat_multiply_add(sum3_3, a3, b3);
      }
      {
        CoopMatA a0;
        coopmat_load_a(a0, (0 + subgroup_row) * 5 + 2, 5);
        CoopMatA a1;
        coopmat_load_a(a1, (16 + subgroup_row) * 5 + 2, 5);
        CoopMatA a2;
        coopmat_load_a(a2, (32 + subgroup_row) * 5 + 2, 5);
        CoopMatA a3;
        coopmat_load_a(a3, (48 + subgroup_row) * 5 + 2, 5);
        CoopMatB b0;
        pairs[0] = weight_pair(current0_0, 2, column_zeros[0][0], column_scales[0][0], column_offsets[0][0]);
        pairs[1] = weight_pair(current0_0, 3, column_zeros[0][0], column_scales[0][0], column_offsets[0][0]);
        pairs[2] = weight_pair(current0_1, 2, column_zeros[0][1], column_scales[0][1], column_offsets[0][1]);
        pairs[3] = weight_pair(current0_1, 3, column_zeros[0][1], column_scales[0][1], column_offsets[0][1]);
        quad_store_f16(exchange, coopmat_lane() / 4, pairs);
        coopmat_barrier();
        coopmat_load_b_transposed(b0, exchange, 2);
        coopmat_barrier();
        coopmat_multiply_add(sum0_0, a0, b0);
        coopmat_multiply_add(sum1_0, a1, b0);
        coopmat_multiply_add(sum2_0, a2, b0);
        coopmat_multiply_add(sum3_0, a3, b0);
        CoopMatB b1;
        pairs[0] = weight_pair(current0_2, 2, column_zeros[0][2], column_scales[0][2], column_offsets[0][2]);
        pairs[1] = weight_pair(current0_2, 3, column_zeros[0][2], column_scales[0][2], column_offsets[0][2]);
        pairs[2] = weight_pair(current0_3, 2, column_zeros[0][3], column_scales[0][3], column_offsets[0][3]);
        pairs[3] = weight_pair(current0_3, 3, column_zeros[0][3], column_scales[0][3], column_offsets[0][3]);
        quad_store_f16(exchange, coopmat_lane() / 4, pairs);
        coopmat_barrier();
        coopmat_load_b_transposed(b1, exchange, 2);
        coopmat_barrier();
        coopmat_multiply_add(sum0_1, a0, b1);
        coopmat_multiply_add(sum1_1, a1, b1);
        coopmat_multiply_add(sum2_1, a2, b1);
        coopmat_multiply_add(sum3_1, a3, b1);
        CoopMatB b2;
        pairs[0] = weight_pair(current0_4, 2, column_zeros[1][0], column_scales[1][0], column_offsets[1][0]);
        pairs[1] = weight_pair(current0_4, 3, column_zeros[1][0], column_scales[1][0], column_offsets[1][0]);
        pairs[2] = weight_pair(current0_5, 2, column_zeros[1][1], column_scales[1][1], column_offsets[1][1]);
        pairs[3] = weight_pair(current0_5, 3, column_zeros[1][1], column_scales[1][1], column_offsets[1][1]);
        quad_store_f16(exchange, coopmat_lane() / 4, pairs);
        coopmat_barrier();
        coopmat_load_b_transposed(b2, exchange, 2);
        coopmat_barrier();
        coopmat_multiply_add(sum0_2, a0, b2);
        coopmat_multiply_add(sum1_2, a1, b2);
        coopmat_multiply_add(sum2_2, a2, b2);
        coopmat_multiply_add(sum3_2, a3, b2);
        CoopMatB b3;
        pairs[0] = weight_pair(current0_6, 2, column_zeros[1][2], column_scales[1][2], column_offsets[1][2]);
        pairs[1] = weight_pair(current0_6, 3, column_zeros[1][2], column_scales[1][2], column_offsets[1][2]);
        pairs[2] = weight_pair(current0_7, 2, column_zeros[1][3], column_scales[1][3], column_offsets[1][3]);
        pairs[3] = weight_pair(current0_7, 3, column_zeros[1][3], column_scales[1][3], column_offsets[1][3]);
        quad_store_f16(exchange, coopmat_lane() / 4, pairs);
        coopmat_barrier();
        coopmat_load_b_transposed(b3, exchange, 2);
        coopmat_barrier();
        coopmat_multiply_add(sum0_3, a0, b3);
        coopmat_multiply_add(sum1_3, a1, b3);
        coopmat_multiply_add(sum2_3, a2, b3);
        coopmat_multiply_add(sum3_3, a3, b3);
      }

    }
  }
  int store_row = subgroup_row + coopmat_lane() / 16;
  int at = group * 272 + coopmat_lane() / 16 * 17 + coopmat_lane() % 16;
  begin_column(subgroup_column + coopmat_lane() % 16 * 4);
  barrier();
  for (int i = 0; i < 4; i++) {
    EpilogueOperands epilogue[8];
    [[unroll]] for (int r = 0; r < 8; r++) epilogue[r] = load_epilogue(16 * i + store_row + r * 2);
    if (i == 0) {
      coopmat_store(sum0_0, group * 272 + 0, 17);
      coopmat_store(sum0_1, group * 272 + 4, 17);
      coopmat_store(sum0_2, group * 272 + 8, 17);
      coopmat_store(sum0_3, group * 272 + 12, 17);
    }
    if (i == 1) {
      coopmat_store(sum1_0, group * 272 + 0, 17);
      coopmat_store(sum1_1, group * 272 + 4, 17);
      coopmat_store(sum1_2, group * 272 + 8, 17);
      coopmat_store(sum1_3, group * 272 + 12, 17);
    }
    if (i == 2) {
      coopmat_store(sum2_0, group * 272 + 0, 17);
      coopmat_store(sum2_1, group * 272 + 4, 17);
      coopmat_store(sum2_2, group * 272 + 8, 17);
      coopmat_store(sum2_3, group * 272 + 12, 17);
    }
    if (i == 3) {
      coopmat_store(sum3_0, group * 272 + 0, 17);
      coopmat_store(sum3_1, group * 272 + 4, 17);
      coopmat_store(sum3_2, group * 272 + 8, 17);
      coopmat_store(sum3_3, group * 272 + 12, 17);
    }
    coopmat_barrier();
    [[unroll]] for (int r = 0; r < 8; r++) store_row4(uintBitsToFloat(tiles[at + r * 34]), 16 * i + store_row + r * 2, epilogue[r]);
    coopmat_barrier();
  }

}
