#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require
layout(set = 0, binding = 1, std430) readonly buffer weight_vec8s { uvec4 weight_vec8_data[]; };

// Eight fp16 values each: rows of the weight tile, then of the pixel tile; later 16 channels of
// each subgroup tile of y. Rows are padded by one vec8 against bank conflicts.
shared uvec4 tiles[1152];

int channel_end;  // of the group

int pixel;  // of all images, the first of the tile

void begin_column(int tile_column) { set_pixels(pixel + tile_column, min(y_sizes[0] * y_sizes[3] - pixel - tile_column, 4)); }

void main() {
  int lane = int(gl_LocalInvocationID.x) % 128;
  int k_slice = int(gl_LocalInvocationID.x) / 128;
  int k_slice_tile = k_slice * 576;
  int blocks = (group_out + 31) / 32;
  int group_index = workgroup_index();
  int block = unravel(group_index, blocks) * 32;
  pixel = group_index;
  group_index = unravel(pixel, y_sizes[1] / group_out);
  pixel *= 32;
  channel = group_index * group_out + block;
  channel_end = (group_index + 1) * group_out;
  int depth = group_in * window[0] * window[1] * window[2];
  int steps = (depth + 127) / 128;
  int first_step = k_slice * steps;
  int slice_taps = k_slice * 128;
  set_pixel(pixel + lane % 32, group_index);
  if (lane < 64) {
    for (int s = 0; s < 2; s++) set_taps(lane, slice_taps, first_step + s);
  }
  barrier();
  // Loads per step: eight K indices of each weight row, and 16 of one pixel.
  int left_k = lane % 8 * 8;
  int left0_index = min(channel + lane / 8 + 0, channel_end - 1) * depth + left_k;
  uvec4 left0;
  int left1_index = min(channel + lane / 8 + 16, channel_end - 1) * depth + left_k;
  uvec4 left1;
  int right_k = lane / 32 * 16;
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
  int group = coopmat_subgroup() % 4;
  CoopMatC sum0_0 = COOPMAT_ZERO;
  CoopMatC sum0_1 = COOPMAT_ZERO;
  CoopMatC sum1_0 = COOPMAT_ZERO;
  CoopMatC sum1_1 = COOPMAT_ZERO;

  // The prologue loads are those of step -1: a second copy of the code would dominate the module
  // size.
  for (int s = -1; s < steps; s++) {
    if (s >= 0) {
      barrier();
      tiles[k_slice_tile + (lane / 8 + 0) * 9 + lane % 8] = left0;
      tiles[k_slice_tile + (lane / 8 + 16) * 9 + lane % 8] = left1;
      tiles[k_slice_tile + 288 + lane % 32 * 9 + right_k / 8] = uvec4(pack_f16x2(right0, right1), pack_f16x2(right2, right3), pack_f16x2(right4, right5), pack_f16x2(right6, right7));
      tiles[k_slice_tile + 289 + lane % 32 * 9 + right_k / 8] = uvec4(pack_f16x2(right8, right9), pack_f16x2(right10, right11), pack_f16x2(right12, right13), pack_f16x2(right14, right15));
      barrier();
      // Those of step s have been read before the barriers.
      if (lane < 64) set_taps(lane, slice_taps, first_step + s + 2);
    }
    if (s + 1 < steps) {
      int first = (first_step + s + 1) * 64;
      left0 = uvec4(0);
      if (ALIGNED_8) {
        if (first + left_k < depth) left0 = weight_vec8_data[(left0_index + first) / 8];
      } else {
        for (int e = 0; e < 8; e++) {
          if (first + left_k + e < depth) left0[e / 2] |= packHalf2x16(vec2(weight_load(left0_index + first + e), 0.0)) << (e % 2 * 16);
        }
      }
      left1 = uvec4(0);
      if (ALIGNED_8) {
        if (first + left_k < depth) left1 = weight_vec8_data[(left1_index + first) / 8];
      } else {
        for (int e = 0; e < 8; e++) {
          if (first + left_k + e < depth) left1[e / 2] |= packHalf2x16(vec2(weight_load(left1_index + first + e), 0.0)) << (e % 2 * 16);
        }
      }
      int x0 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 64 + right_k + 0]);
      right0 = F16Value(0.0);
      if (x0 >= 0) right0 = F16Value(x_data[x0]);
      int x1 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 64 + right_k + 1]);
      right1 = F16Value(0.0);
      if (x1 >= 0) right1 = F16Value(x_data[x1]);
      int x2 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 64 + right_k + 2]);
      right2 = F16Value(0.0);
      if (x2 >= 0) right2 = F16Value(x_data[x2]);
      int x3 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 64 + right_k + 3]);
      right3 = F16Value(0.0);
      if (x3 >= 0) right3 = F16Value(x_data[x3]);
      int x4 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 64 + right_k + 4]);
      right4 = F16Value(0.0);
      if (x4 >= 0) right4 = F16Value(x_data[x4]);
      int x5 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 64 + right_k + 5]);
      right5 = F16Value(0.0);
      if (x5 >= 0) right5 = F16Value(x_data[x5]);
      int x6 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 64 + right_k + 6]);
      right6 = F16Value(0.0);
      if (x6 >= 0) right6 = F16Value(x_data[x6]);
      int x7 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 64 + right_k + 7]);
      right7 = F16Value(0.0);
      if (x7 >= 0) right7 = F16Value(x_data[x7]);
      int x8 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 64 + right_k + 8]);
      right8 = F16Value(0.0);
      if (x8 >= 0) right8 = F16Value(x_data[x8]);
      int x9 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 64 + right_k + 9]);
      right9 = F16Value(0.0);
      if (x9 >= 0) right9 = F16Value(x_data[x9]);
      int x10 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 64 + right_k + 10]);
      right10 = F16Value(0.0);
      if (x10 >= 0) right10 = F16Value(x_data[x10]);
      int x11 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 64 + right_k + 11]);
      right11 = F16Value(0.0);
      if (x11 >= 0) right11 = F16Value(x_data[x11]);
      int x12 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 64 + right_k + 12]);
      right12 = F16Value(0.0);
      if (x12 >= 0) right12 = F16Value(x_data[x12]);
      int x13 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 64 + right_k + 13]);
      right13 = F16Value(0.0);
      if (x13 >= 0) right13 = F16Value(x_data[x13]);
      int x14 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 64 + right_k + 14]);
      right14 = F16Value(0.0);
      if (x14 >= 0) right14 = F16Value(x_data[x14]);
      int x15 = tap_index(taps[slice_taps + (first_step + s + 1) % 2 * 64 + right_k + 15]);
      right15 = F16Value(0.0);
      if (x15 >= 0) right15 = F16Value(x_data[x15]);
    }
    if (s < 0) continue;
    {
      CoopMatA a0;
      coopmat_load_a(a0, k_slice_tile + (0) * 9 + (0 + group * 1) * 2, 9);
      CoopMatA a1;
      coopmat_load_a(a1, k_slice_tile + (16) * 9 + (0 + group * 1) * 2, 9);
      CoopMatB b0;
      coopmat_load_b_transposed(b0, k_slice_tile + 288 + (0) * 9 + (0 + group * 1) * 2, 9);
      coopmat_multiply_add(sum0_0, a0, b0);
      coopmat_multiply_add(sum1_0, a1, b0);
      CoopMatB b1;
      coopmat_load_b_transposed(b1, k_slice_tile + 288 + (16) * 9 + (0 + group * 1) * 2, 9);
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
      coopmat_store(sum0_0, (4 * k_slice + group) * 144 + 0, 9);
      coopmat_store(sum0_1, (4 * k_slice + group) * 144 + 4, 9);
    }
    if (i == 1) {
      coopmat_store(sum1_0, (4 * k_slice + group) * 144 + 0, 9);
      coopmat_store(sum1_1, (4 * k_slice + group) * 144 + 4, 9);
    }
    barrier();
    vec4 v = vec4(0.0);
    for (int g = 0; g < 8; g++) v += uintBitsToFloat(tiles[g * 144 + store_row * 9 + lane % 8]);
    if (k_slice == i % 2) store_row4(v, 16 * i + store_row, epilogue[0]);
    barrier();
  }

}
