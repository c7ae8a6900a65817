#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_NV_cooperative_matrix : require
layout(set = 0, binding = 1, std430) readonly buffer weight_vec8s { uvec4 weight_vec8_data[]; };
layout(set = 0, binding = 0, std430) readonly buffer x_vec8s { uvec4 x_vec8_data[]; };

// Eight fp16 values each: rows of the weight tile, then channels of the pixel tile; later 16 channels of
// each subgroup tile of y. Rows are padded by one vec8 against bank conflicts.
shared uvec4 tiles[1152];


int pixel;  // of all images, the first of the tile

void begin_column(int tile_column) { set_pixels(pixel + tile_column, min(y_sizes[0] * y_sizes[2] * y_sizes[3] - pixel - tile_column, 4)); }

void main() {
  int lane = int(gl_LocalInvocationID.x);
  int blocks = (y_sizes[1] + 63) / 64;
  int block = workgroup_index();
  channel = unravel(block, blocks) * 64;
  pixel = block * 64;
  // Loads per step: eight channels of weight rows, and eight pixels of input channels.
  int weight_c = lane % 8 * 8;
  int weight_row0 = min(channel + lane / 8 + 0, y_sizes[1] - 1) * group_in;
  uvec4 weight0 = uvec4(0);
  int weight_row1 = min(channel + lane / 8 + 16, y_sizes[1] - 1) * group_in;
  uvec4 weight1 = uvec4(0);
  int weight_row2 = min(channel + lane / 8 + 32, y_sizes[1] - 1) * group_in;
  uvec4 weight2 = uvec4(0);
  int weight_row3 = min(channel + lane / 8 + 48, y_sizes[1] - 1) * group_in;
  uvec4 weight3 = uvec4(0);
  int input_c = lane / 8;
  int plane = y_sizes[2] * y_sizes[3];
  int image = min(pixel + lane % 8 * 8, y_sizes[0] * plane - 8);
  int within = unravel(image, plane);
  int input_at = (image * x_sizes[1] * plane + within) / 8;
  uvec4 inputs0 = uvec4(0);
  uvec4 inputs1 = uvec4(0);
  uvec4 inputs2 = uvec4(0);
  uvec4 inputs3 = uvec4(0);
  int group = coopmat_subgroup();
  int subgroup_row = group % 2 * 32;
  int subgroup_column = group / 2 * 32;
  CoopMatC sum0_0 = COOPMAT_ZERO;
  CoopMatC sum0_1 = COOPMAT_ZERO;
  CoopMatC sum1_0 = COOPMAT_ZERO;
  CoopMatC sum1_1 = COOPMAT_ZERO;

  // The prologue loads are those of step -1: a second copy of the code would dominate the module
  // size.
  for (int c = -64; c < group_in; c += 64) {
    if (c >= 0) {
      barrier();
      tiles[(lane / 8 + 0) * 9 + lane % 8] = weight0;
      tiles[(lane / 8 + 16) * 9 + lane % 8] = weight1;
      tiles[(lane / 8 + 32) * 9 + lane % 8] = weight2;
      tiles[(lane / 8 + 48) * 9 + lane % 8] = weight3;
      tiles[576 + (input_c + 0) * 9 + lane % 8] = inputs0;
      tiles[576 + (input_c + 16) * 9 + lane % 8] = inputs1;
      tiles[576 + (input_c + 32) * 9 + lane % 8] = inputs2;
      tiles[576 + (input_c + 48) * 9 + lane % 8] = inputs3;
      barrier();
    }
    int next_c = c + 64;
    weight0 = uvec4(0);
    if (next_c + weight_c < group_in) weight0 = weight_vec8_data[(weight_row0 + next_c + weight_c) / 8];
    weight1 = uvec4(0);
    if (next_c + weight_c < group_in) weight1 = weight_vec8_data[(weight_row1 + next_c + weight_c) / 8];
    weight2 = uvec4(0);
    if (next_c + weight_c < group_in) weight2 = weight_vec8_data[(weight_row2 + next_c + weight_c) / 8];
    weight3 = uvec4(0);
    if (next_c + weight_c < group_in) weight3 = weight_vec8_data[(weight_row3 + next_c + weight_c) / 8];
    inputs0 = uvec4(0);
    if (next_c + input_c + 0 < group_in) inputs0 = x_vec8_data[input_at + (next_c + input_c + 0) * plane / 8];
    inputs1 = uvec4(0);
    if (next_c + input_c + 16 < group_in) inputs1 = x_vec8_data[input_at + (next_c + input_c + 16) * plane / 8];
    inputs2 = uvec4(0);
    if (next_c + input_c + 32 < group_in) inputs2 = x_vec8_data[input_at + (next_c + input_c + 32) * plane / 8];
    inputs3 = uvec4(0);
    if (next_c + input_c + 48 < group_in) inputs3 = x_vec8_data[input_at + (next_c + input_c + 48) * plane / 8];
    if (c < 0) continue;
    {
      CoopMatA a0;
      coopmat_load_a(a0, (0 + subgroup_row) * 9 + (0) * 2, 9);
      CoopMatA a1;
      coopmat_load_a(a1, (16 + subgroup_row) * 9 + (0) * 2, 9);
      CoopMatB b0;
      coopmat_load_b(b0, 576 + (0) * 144 + (0 + subgroup_column) / 8, 9);
      coopmat_multiply_add(sum0_0, a0, b0);
      coopmat_multiply_add(sum1_0, a1, b0);
      CoopMatB b1;
      coopmat_load_b(b1, 576 + (0) * 144 + (16 + subgroup_column) / 8, 9);
      coopmat_multiply_add(sum0_1, a0, b1);
      coopmat_multiply_add(sum1_1, a1, b1);
    }
    {
      CoopMatA a0;
      coopmat_load_a(a0, (0 + subgroup_row) * 9 + (1) * 2, 9);
      CoopMatA a1;
      coopmat_load_a(a1, (16 + subgroup_row) * 9 + (1) * 2, 9);
      CoopMatB b0;
      coopmat_load_b(b0, 576 + (1) * 144 + (0 + subgroup_column) / 8, 9);
      coopmat_multiply_add(sum0_0, a0, b0);
      coopmat_multiply_add(sum1_0, a1, b0);
      CoopMatB b1;
      coopmat_load_b(b1, 576 + (1) * 144 + (16 + subgroup_column) / 8, 9);
      coopmat_multiply_add(sum0_1, a0, b1);
      coopmat_multiply_add(sum1_1, a1, b1);
    }
    {
      CoopMatA a0;
      coopmat_load_a(a0, (0 + subgroup_row) * 9 + (2) * 2, 9);
      CoopMatA a1;
      coopmat_load_a(a1, (16 + subgroup_row) * 9 + (2) * 2, 9);
      CoopMatB b0;
      coopmat_load_b(b0, 576 + (2) * 144 + (0 + subgroup_column) / 8, 9);
      coopmat_multiply_add(sum0_0, a0, b0);
      coopmat_multiply_add(sum1_0, a1, b0);
      CoopMatB b1;
      coopmat_load_b(b1, 576 + (2) * 144 + (16 + subgroup_column) / 8, 9);
      coopmat_multiply_add(sum0_1, a0, b1);
      coopmat_multiply_add(sum1_1, a1, b1);
    }
    {
      CoopMatA a0;
      coopmat_load_a(a0, (0 + subgroup_row) * 9 + (3) * 2, 9);
      CoopMatA a1;
      coopmat_load_a(a1, (16 + subgroup_row) * 9 + (3) * 2, 9);
      CoopMatB b0;
      coopmat_load_b(b0, 576 + (3) * 144 + (0 + subgroup_column) / 8, 9);
      coopmat_multiply_add(sum0_0, a0, b0);
      coopmat_multiply_add(sum1_0, a1, b0);
      CoopMatB b1;
      coopmat_load_b(b1, 576 + (3) * 144 + (16 + subgroup_column) / 8, 9);
      coopmat_multiply_add(sum0_1, a0, b1);
      coopmat_multiply_add(sum1_1, a1, b1);
    }

  }
  int store_row = subgroup_row + coopmat_lane() / 8;
  int at = group * 144 + coopmat_lane() / 8 * 9 + coopmat_lane() % 8;
  begin_column(subgroup_column + coopmat_lane() % 8 * 4);
  barrier();
  for (int i = 0; i < 2; i++) {
    EpilogueOperands epilogue[4];
    [[unroll]] for (int r = 0; r < 4; r++) epilogue[r] = load_epilogue(16 * i + store_row + r * 4);
    if (i == 0) {
      coopmat_store(sum0_0, group * 144 + 0, 9);
      coopmat_store(sum0_1, group * 144 + 4, 9);
    }
    if (i == 1) {
      coopmat_store(sum1_0, group * 144 + 0, 9);
      coopmat_store(sum1_1, group * 144 + 4, 9);
    }
    coopmat_barrier();
    [[unroll]] for (int r = 0; r < 4; r++) store_row4(uintBitsToFloat(tiles[at + r * 36]), 16 * i + store_row + r * 4, epilogue[r]);
    coopmat_barrier();
  }

}
