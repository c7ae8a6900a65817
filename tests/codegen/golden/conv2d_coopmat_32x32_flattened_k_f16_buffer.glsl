#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_NV_cooperative_matrix : require
layout(set = 0, binding = 1, std430) readonly buffer weight_runs { uvec2 weight_vec4_data[]; };

// Eight fp16 values each: rows of the weight tile, then of the pixel tile; later 16 channels of
// each subgroup tile of y. Rows are padded by one vec8 against bank conflicts.
shared uvec4 tiles[1088];


int pixel;  // of all images, the first of the tile

void begin_column(int tile_column) { set_pixels(pixel + tile_column, min(y_sizes[0] * y_sizes[2] * y_sizes[3] - pixel - tile_column, 4)); }

void main() {
  int lane = int(gl_LocalInvocationID.x);
  int blocks = (y_sizes[1] + 31) / 32;
  int block = workgroup_index();
  channel = unravel(block, blocks) * 32;
  pixel = block * 32;
  int runs = group_in * WINDOW_H * RUNS;
  int steps = (runs + 31) / 32;
  // Loads per step: two runs of each weight row; of one pixel's inputs, every
  // 4th pair of runs.
  int left_run = lane % 16 * 2;
  int left_row0 = min(channel + lane / 16 + 0, y_sizes[1] - 1);
  uvec4 left0;
  int left_row1 = min(channel + lane / 16 + 8, y_sizes[1] - 1);
  uvec4 left1;
  int left_row2 = min(channel + lane / 16 + 16, y_sizes[1] - 1);
  uvec4 left2;
  int left_row3 = min(channel + lane / 16 + 24, y_sizes[1] - 1);
  uvec4 left3;
  int right_run = lane / 32 * 2;
  int image = pixel + lane % 32;
  int within = unravel(image, y_sizes[2] * y_sizes[3]);
  bool in_bounds = image < y_sizes[0];
  int y_row = divide(within, y_sizes[3]);
  ivec2 corner = ivec2(y_row, within - y_row * y_sizes[3]) * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  F16Value right0;
  F16Value right1;
  F16Value right2;
  F16Value right3;
  F16Value right4;
  F16Value right5;
  F16Value right6;
  F16Value right7;
  F16Value right8;
  F16Value right9;
  F16Value right10;
  F16Value right11;
  F16Value right12;
  F16Value right13;
  F16Value right14;
  F16Value right15;
  F16Value right16;
  F16Value right17;
  F16Value right18;
  F16Value right19;
  F16Value right20;
  F16Value right21;
  F16Value right22;
  F16Value right23;
  F16Value right24;
  F16Value right25;
  F16Value right26;
  F16Value right27;
  F16Value right28;
  F16Value right29;
  F16Value right30;
  F16Value right31;
  int group = coopmat_subgroup();
  CoopMatC sum0_0 = COOPMAT_ZERO;
  CoopMatC sum0_1 = COOPMAT_ZERO;
  CoopMatC sum1_0 = COOPMAT_ZERO;
  CoopMatC sum1_1 = COOPMAT_ZERO;

  // The prologue loads are those of step -1: a second copy of the code would dominate the module
  // size.
  for (int s = -1; s < steps; s++) {
    if (s >= 0) {
      barrier();
      tiles[(lane / 16 + 0) * 17 + lane % 16] = left0;
      tiles[(lane / 16 + 8) * 17 + lane % 16] = left1;
      tiles[(lane / 16 + 16) * 17 + lane % 16] = left2;
      tiles[(lane / 16 + 24) * 17 + lane % 16] = left3;
      tiles[544 + lane % 32 * 17 + right_run / 2] = uvec4(pack_f16x2(right0, right1), pack_f16x2(right2, right3), pack_f16x2(right4, right5), pack_f16x2(right6, right7));
      tiles[548 + lane % 32 * 17 + right_run / 2] = uvec4(pack_f16x2(right8, right9), pack_f16x2(right10, right11), pack_f16x2(right12, right13), pack_f16x2(right14, right15));
      tiles[552 + lane % 32 * 17 + right_run / 2] = uvec4(pack_f16x2(right16, right17), pack_f16x2(right18, right19), pack_f16x2(right20, right21), pack_f16x2(right22, right23));
      tiles[556 + lane % 32 * 17 + right_run / 2] = uvec4(pack_f16x2(right24, right25), pack_f16x2(right26, right27), pack_f16x2(right28, right29), pack_f16x2(right30, right31));
      barrier();
    }
    if (s + 1 < steps) {
      int first = (s + 1) * 32;
      left0 = uvec4(0);
      if (first + left_run < runs) left0.xy = weight_vec4_data[left_row0 * runs + first + left_run];
      if (first + left_run + 1 < runs) left0.zw = weight_vec4_data[left_row0 * runs + first + left_run + 1];
      left1 = uvec4(0);
      if (first + left_run < runs) left1.xy = weight_vec4_data[left_row1 * runs + first + left_run];
      if (first + left_run + 1 < runs) left1.zw = weight_vec4_data[left_row1 * runs + first + left_run + 1];
      left2 = uvec4(0);
      if (first + left_run < runs) left2.xy = weight_vec4_data[left_row2 * runs + first + left_run];
      if (first + left_run + 1 < runs) left2.zw = weight_vec4_data[left_row2 * runs + first + left_run + 1];
      left3 = uvec4(0);
      if (first + left_run < runs) left3.xy = weight_vec4_data[left_row3 * runs + first + left_run];
      if (first + left_run + 1 < runs) left3.zw = weight_vec4_data[left_row3 * runs + first + left_run + 1];
      Run run0 = window_run(first + right_run + 0, image, corner, in_bounds ? group_in : 0);
      right0 = F16Value(0.0);
      if (run_has(run0, run0.column)) right0 = F16Value(x_data[run0.from + run0.column]);
      run0.column += dilation[1];
      right1 = F16Value(0.0);
      if (run_has(run0, run0.column)) right1 = F16Value(x_data[run0.from + run0.column]);
      run0.column += dilation[1];
      right2 = F16Value(0.0);
      if (run_has(run0, run0.column)) right2 = F16Value(x_data[run0.from + run0.column]);
      run0.column += dilation[1];
      right3 = F16Value(0.0);
      if (run_has(run0, run0.column)) right3 = F16Value(x_data[run0.from + run0.column]);
      Run run1 = window_run(first + right_run + 1, image, corner, in_bounds ? group_in : 0);
      right4 = F16Value(0.0);
      if (run_has(run1, run1.column)) right4 = F16Value(x_data[run1.from + run1.column]);
      run1.column += dilation[1];
      right5 = F16Value(0.0);
      if (run_has(run1, run1.column)) right5 = F16Value(x_data[run1.from + run1.column]);
      run1.column += dilation[1];
      right6 = F16Value(0.0);
      if (run_has(run1, run1.column)) right6 = F16Value(x_data[run1.from + run1.column]);
      run1.column += dilation[1];
      right7 = F16Value(0.0);
      if (run_has(run1, run1.column)) right7 = F16Value(x_data[run1.from + run1.column]);
      Run run2 = window_run(first + right_run + 8, image, corner, in_bounds ? group_in : 0);
      right8 = F16Value(0.0);
      if (run_has(run2, run2.column)) right8 = F16Value(x_data[run2.from + run2.column]);
      run2.column += dilation[1];
      right9 = F16Value(0.0);
      if (run_has(run2, run2.column)) right9 = F16Value(x_data[run2.from + run2.column]);
      run2.column += dilation[1];
      right10 = F16Value(0.0);
      if (run_has(run2, run2.column)) right10 = F16Value(x_data[run2.from + run2.column]);
      run2.column += dilation[1];
      right11 = F16Value(0.0);
      if (run_has(run2, run2.column)) right11 = F16Value(x_data[run2.from + run2.column]);
      Run run3 = window_run(first + right_run + 9, image, corner, in_bounds ? group_in : 0);
      right12 = F16Value(0.0);
      if (run_has(run3, run3.column)) right12 = F16Value(x_data[run3.from + run3.column]);
      run3.column += dilation[1];
      right13 = F16Value(0.0);
      if (run_has(run3, run3.column)) right13 = F16Value(x_data[run3.from + run3.column]);
      run3.column += dilation[1];
      right14 = F16Value(0.0);
      if (run_has(run3, run3.column)) right14 = F16Value(x_data[run3.from + run3.column]);
      run3.column += dilation[1];
      right15 = F16Value(0.0);
      if (run_has(run3, run3.column)) right15 = F16Value(x_data[run3.from + run3.column]);
      Run run4 = window_run(first + right_run + 16, image, corner, in_bounds ? group_in : 0);
      right16 = F16Value(0.0);
      if (run_has(run4, run4.column)) right16 = F16Value(x_data[run4.from + run4.column]);
      run4.column += dilation[1];
      right17 = F16Value(0.0);
      if (run_has(run4, run4.column)) right17 = F16Value(x_data[run4.from + run4.column]);
      run4.column += dilation[1];
      right18 = F16Value(0.0);
      if (run_has(run4, run4.column)) right18 = F16Value(x_data[run4.from + run4.column]);
      run4.column += dilation[1];
      right19 = F16Value(0.0);
      if (run_has(run4, run4.column)) right19 = F16Value(x_data[run4.from + run4.column]);
      Run run5 = window_run(first + right_run + 17, image, corner, in_bounds ? group_in : 0);
      right20 = F16Value(0.0);
      if (run_has(run5, run5.column)) right20 = F16Value(x_data[run5.from + run5.column]);
      run5.column += dilation[1];
      right21 = F16Value(0.0);
      if (run_has(run5, run5.column)) right21 = F16Value(x_data[run5.from + run5.column]);
      run5.column += dilation[1];
      right22 = F16Value(0.0);
      if (run_has(run5, run5.column)) right22 = F16Value(x_data[run5.from + run5.column]);
      run5.column += dilation[1];
      right23 = F16Value(0.0);
      if (run_has(run5, run5.column)) right23 = F16Value(x_data[run5.from + run5.column]);
      Run run6 = window_run(first + right_run + 24, image, corner, in_bounds ? group_in : 0);
      right24 = F16Value(0.0);
      if (run_has(run6, run6.column)) right24 = F16Value(x_data[run6.from + run6.column]);
      run6.column += dilation[1];
      right25 = F16Value(0.0);
      if (run_has(run6, run6.column)) right25 = F16Value(x_data[run6.from + run6.column]);
      run6.column += dilation[1];
      right26 = F16Value(0.0);
      if (run_has(run6, run6.column)) right26 = F16Value(x_data[run6.from + run6.column]);
      run6.column += dilation[1];
      right27 = F16Value(0.0);
      if (run_has(run6, run6.column)) right27 = F16Value(x_data[run6.from + run6.column]);
      Run run7 = window_run(first + right_run + 25, image, corner, in_bounds ? group_in : 0);
      right28 = F16Value(0.0);
      if (run_has(run7, run7.column)) right28 = F16Value(x_data[run7.from + run7.column]);
      run7.column += dilation[1];
      right29 = F16Value(0.0);
      if (run_has(run7, run7.column)) right29 = F16Value(x_data[run7.from + run7.column]);
      run7.column += dilation[1];
      right30 = F16Value(0.0);
      if (run_has(run7, run7.column)) right30 = F16Value(x_data[run7.from + run7.column]);
      run7.column += dilation[1];
      right31 = F16Value(0.0);
      if (run_has(run7, run7.column)) right31 = F16Value(x_data[run7.from + run7.column]);
    }
    if (s < 0) continue;
    {
      CoopMatA a0;
      coopmat_load_a(a0, (0) * 17 + (0 + group * 2) * 2, 17);
      CoopMatA a1;
      coopmat_load_a(a1, (16) * 17 + (0 + group * 2) * 2, 17);
      CoopMatB b0;
      coopmat_load_b_transposed(b0, 544 + (0) * 17 + (0 + group * 2) * 2, 17);
      coopmat_multiply_add(sum0_0, a0, b0);
      coopmat_multiply_add(sum1_0, a1, b0);
      CoopMatB b1;
      coopmat_load_b_transposed(b1, 544 + (16) * 17 + (0 + group * 2) * 2, 17);
      coopmat_multiply_add(sum0_1, a0, b1);
      coopmat_multiply_add(sum1_1, a1, b1);
    }
    {
      CoopMatA a0;
      coopmat_load_a(a0, (0) * 17 + (1 + group * 2) * 2, 17);
      CoopMatA a1;
      coopmat_load_a(a1, (16) * 17 + (1 + group * 2) * 2, 17);
      CoopMatB b0;
      coopmat_load_b_transposed(b0, 544 + (0) * 17 + (1 + group * 2) * 2, 17);
      coopmat_multiply_add(sum0_0, a0, b0);
      coopmat_multiply_add(sum1_0, a1, b0);
      CoopMatB b1;
      coopmat_load_b_transposed(b1, 544 + (16) * 17 + (1 + group * 2) * 2, 17);
      coopmat_multiply_add(sum0_1, a0, b1);
      coopmat_multiply_add(sum1_1, a1, b1);
    }

  }
  int store_row = lane / 8;  // 16 rows of 8 vec4s: one per invocation
  begin_column(lane % 8 * 4);
  barrier();
  for (int i = 0; i < 2; i++) {
    EpilogueOperands epilogue[1];
    [[unroll]] for (int r = 0; r < 1; r++) epilogue[r] = load_epilogue(16 * i + store_row + r * 4);
    if (i == 0) {
      coopmat_store(sum0_0, group * 144 + 0, 9);
      coopmat_store(sum0_1, group * 144 + 4, 9);
    }
    if (i == 1) {
      coopmat_store(sum1_0, group * 144 + 0, 9);
      coopmat_store(sum1_1, group * 144 + 4, 9);
    }
    barrier();
    vec4 v = vec4(0.0);
    for (int g = 0; g < 4; g++) v += uintBitsToFloat(tiles[g * 144 + store_row * 9 + lane % 8]);
    store_row4(v, 16 * i + store_row, epilogue[0]);
    barrier();
  }

}
