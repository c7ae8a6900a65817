#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_NV_cooperative_matrix : require
layout(set = 0, binding = 1, std430) readonly buffer left_vec8s { uvec4 left_data[]; };

// Eight fp16 values each: the left and right tiles of a step, later 16 rows of each subgroup tile
// of y. Rows are padded by one vec8 against bank conflicts.
shared uvec4 tiles[1184];

int batch = workgroup_index();
int row, column;  // origin of the tile
int left_start, right_start;  // offsets of the batch's matrices

// An invocation's row of a tile whose rows are `row_vec8s` vec8s and one of padding: eight
// consecutive invocations store 128 bytes in different banks.
int tile_row(int row_vec8s) {
  int lane = int(gl_LocalInvocationID.x);
  int mixed = lane / (8 * row_vec8s) * 8 + lane / row_vec8s % max(8 / row_vec8s, 1) * row_vec8s + lane / 8 % row_vec8s;
  return row_vec8s < 8 ? mixed : lane / row_vec8s;
}


void main() {
  // This invocation's rows and columns of each complete step, clamped to the operands.
  int left_tile_row = tile_row(4);
  int left_row0 = left_start + min(row + left_tile_row + 0, row_count - 1) * depth + lane % 4 * 8;
  uvec4 left0 = uvec4(0);
  int left_row1 = left_start + min(row + left_tile_row + 32, row_count - 1) * depth + lane % 4 * 8;
  uvec4 left1 = uvec4(0);
  int left_row2 = left_start + min(row + left_tile_row + 64, row_count - 1) * depth + lane % 4 * 8;
  uvec4 left2 = uvec4(0);
  int left_row3 = left_start + min(row + left_tile_row + 96, row_count - 1) * depth + lane % 4 * 8;
  uvec4 left3 = uvec4(0);
  int first_k = 0, end_k = depth;
  int aligned_end = min(end_k, ALIGNED_DEPTH);
  if (first_k < aligned_end) {
      FETCH_LEFT(left0, high0, left_row0, first_k)
      FETCH_LEFT(left1, high1, left_row1, first_k)
      FETCH_LEFT(left2, high2, left_row2, first_k)
      FETCH_LEFT(left3, high3, left_row3, first_k)
      fetch_right(first_k);

  }
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

  for (int k = first_k; k < aligned_end; k += 32) {
    barrier();
    tiles[(left_tile_row + 0) * 5 + lane % 4] = STORED_LEFT(left0, high0);
    tiles[(left_tile_row + 32) * 5 + lane % 4] = STORED_LEFT(left1, high1);
    tiles[(left_tile_row + 64) * 5 + lane % 4] = STORED_LEFT(left2, high2);
    tiles[(left_tile_row + 96) * 5 + lane % 4] = STORED_LEFT(left3, high3);
    cache_right();
    barrier();
    if (k + 32 < aligned_end) {
      FETCH_LEFT(left0, high0, left_row0, k + 32)
      FETCH_LEFT(left1, high1, left_row1, k + 32)
      FETCH_LEFT(left2, high2, left_row2, k + 32)
      FETCH_LEFT(left3, high3, left_row3, k + 32)
      fetch_right(k + 32);

    }
    {
      CoopMatA a0;
      coopmat_load_a(a0, (0 + subgroup_row) * 5 + (0) * 2, 5);
      CoopMatA a1;
      coopmat_load_a(a1, (16 + subgroup_row) * 5 + (0) * 2, 5);
      CoopMatA a2;
      coopmat_load_a(a2, (32 + subgroup_row) * 5 + (0) * 2, 5);
      CoopMatA a3;
      coopmat_load_a(a3, (48 + subgroup_row) * 5 + (0) * 2, 5);
      CoopMatB b0;
      coopmat_load_b(b0, 640 + (0) * 272 + (0 + subgroup_column) / 8, 17);
      coopmat_multiply_add(sum0_0, a0, b0);
      coopmat_multiply_add(sum1_0, a1, b0);
      coopmat_multiply_add(sum2_0, a2, b0);
      coopmat_multiply_add(sum3_0, a3, b0);
      CoopMatB b1;
      coopmat_load_b(b1, 640 + (0) * 272 + (16 + subgroup_column) / 8, 17);
      coopmat_multiply_add(sum0_1, a0, b1);
      coopmat_multiply_add(sum1_1, a1, b1);
      coopmat_multiply_add(sum2_1, a2, b1);
      coopmat_multiply_add(sum3_1, a3, b1);
      CoopMatB b2;
      coopmat_load_b(b2, 640 + (0) * 272 + (32 + subgroup_column) / 8, 17);
      coopmat_multiply_add(sum0_2, a0, b2);
      coopmat_multiply_add(sum1_2, a1, b2);
      coopmat_multiply_add(sum2_2, a2, b2);
      coopmat_multiply_add(sum3_2, a3, b2);
      CoopMatB b3;
      coopmat_load_b(b3, 640 + (0) * 272 + (48 + subgroup_column) / 8, 17);
      coopmat_multiply_add(sum0_3, a0, b3);
      coopmat_multiply_add(sum1_3, a1, b3);
      coopmat_multiply_add(sum2_3, a2, b3);
      coopmat_multiply_add(sum3_3, a3, b3);
    }
    {
      CoopMatA a0;
      coopmat_load_a(a0, (0 + subgroup_row) * 5 + (1) * 2, 5);
      CoopMatA a1;
      coopmat_load_a(a1, (16 + subgroup_row) * 5 + (1) * 2, 5);
      CoopMatA a2;
      coopmat_load_a(a2, (32 + subgroup_row) * 5 + (1) * 2, 5);
      CoopMatA a3;
      coopmat_load_a(a3, (48 + subgroup_row) * 5 + (1) * 2, 5);
      CoopMatB b0;
      coopmat_load_b(b0, 640 + (1) * 272 + (0 + subgroup_column) / 8, 17);
      coopmat_multiply_add(sum0_0, a0, b0);
      coopmat_multiply_add(sum1_0, a1, b0);
      coopmat_multiply_add(sum2_0, a2, b0);
      coopmat_multiply_add(sum3_0, a3, b0);
      CoopMatB b1;
      coopmat_load_b(b1, 640 + (1) * 272 + (16 + subgroup_column) / 8, 17);
      coopmat_multiply_add(sum0_1, a0, b1);
      coopmat_multiply_add(sum1_1, a1, b1);
      coopmat_multiply_add(sum2_1, a2, b1);
      coopmat_multiply_add(sum3_1, a3, b1);
      CoopMatB b2;
      coopmat_load_b(b2, 640 + (1) * 272 + (32 + subgroup_column) / 8, 17);
      coopmat_multiply_add(sum0_2, a0, b2);
      coopmat_multiply_add(sum1_2, a1, b2);
      coopmat_multiply_add(sum2_2, a2, b2);
      coopmat_multiply_add(sum3_2, a3, b2);
      CoopMatB b3;
      coopmat_load_b(b3, 640 + (1) * 272 + (48 + subgroup_column) / 8, 17);
      coopmat_multiply_add(sum0_3, a0, b3);
      coopmat_multiply_add(sum1_3, a1, b3);
      coopmat_multiply_add(sum2_3, a2, b3);
      coopmat_multiply_add(sum3_3, a3, b3);
    }

  }
  for (int k = max(first_k, aligned_end); k < end_k; k += 32) {
    barrier();
    load_step(k);
    barrier();
    {
      CoopMatA a0;
      coopmat_load_a(a0, (0 + subgroup_row) * 5 + (0) * 2, 5);
      CoopMatA a1;
      coopmat_load_a(a1, (16 + subgroup_row) * 5 + (0) * 2, 5);
      CoopMatA a2;
      coopmat_load_a(a2, (32 + subgroup_row) * 5 + (0) * 2, 5);
      CoopMatA a3;
      coopmat_load_a(a3, (48 + subgroup_row) * 5 + (0) * 2, 5);
      CoopMatB b0;
      coopmat_load_b(b0, 640 + (0) * 272 + (0 + subgroup_column) / 8, 17);
      coopmat_multiply_add(sum0_0, a0, b0);
      coopmat_multiply_add(sum1_0, a1, b0);
      coopmat_multiply_add(sum2_0, a2, b0);
      coopmat_multiply_add(sum3_0, a3, b0);
      CoopMatB b1;
      coopmat_load_b(b1, 640 + (0) * 272 + (16 + subgroup_column) / 8, 17);
      coopmat_multiply_add(sum0_1, a0, b1);
      coopmat_multiply_add(sum1_1, a1, b1);
      coopmat_multiply_add(sum2_1, a2, b1);
      coopmat_multiply_add(sum3_1, a3, b1);
      CoopMatB b2;
      coopmat_load_b(b2, 640 + (0) * 272 + (32 + subgroup_column) / 8, 17);
      coopmat_multiply_add(sum0_2, a0, b2);
      coopmat_multiply_add(sum1_2, a1, b2);
      coopmat_multiply_add(sum2_2, a2, b2);
      coopmat_multiply_add(sum3_2, a3, b2);
      CoopMatB b3;
      coopmat_load_b(b3, 640 + (0) * 272 + (48 + subgroup_column) / 8, 17);
      coopmat_multiply_add(sum0_3, a0, b3);
      coopmat_multiply_add(sum1_3, a1, b3);
      coopmat_multiply_add(sum2_3, a2, b3);
      coopmat_multiply_add(sum3_3, a3, b3);
    }
    {
      CoopMatA a0;
      coopmat_load_a(a0, (0 + subgroup_row) * 5 + (1) * 2, 5);
      CoopMatA a1;
      coopmat_load_a(a1, (16 + subgroup_row) * 5 + (1) * 2, 5);
      CoopMatA a2;
      coopmat_load_a(a2, (32 + subgroup_row) * 5 + (1) * 2, 5);
      CoopMatA a3;
      coopmat_load_a(a3, (48 + subgroup_row) * 5 + (1) * 2, 5);
      CoopMatB b0;
      coopmat_load_b(b0, 640 + (1) * 272 + (0 + subgroup_column) / 8, 17);
      coopmat_multiply_add(sum0_0, a0, b0);
      coopmat_multiply_add(sum1_0, a1, b0);
      coopmat_multiply_add(sum2_0, a2, b0);
      coopmat_multiply_add(sum3_0, a3, b0);
      CoopMatB b1;
      coopmat_load_b(b1, 640 + (1) * 272 + (16 + subgroup_column) / 8, 17);
      coopmat_multiply_add(sum0_1, a0, b1);
      coopmat_multiply_add(sum1_1, a1, b1);
      coopmat_multiply_add(sum2_1, a2, b1);
      coopmat_multiply_add(sum3_1, a3, b1);
      CoopMatB b2;
      coopmat_load_b(b2, 640 + (1) * 272 + (32 + subgroup_column) / 8, 17);
      coopmat_multiply_add(sum0_2, a0, b2);
      coopmat_multiply_add(sum1_2, a1, b2);
      coopmat_multiply_add(sum2_2, a2, b2);
      coopmat_multiply_add(sum3_2, a3, b2);
      CoopMatB b3;
      coopmat_load_b(b3, 640 + (1) * 272 + (48 + subgroup_column) / 8, 17);
      coopmat_multiply_add(sum0_3, a0, b3);
      coopmat_multiply_add(sum1_3, a1, b3);
      coopmat_multiply_add(sum2_3, a2, b3);
      coopmat_multiply_add(sum3_3, a3, b3);
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
