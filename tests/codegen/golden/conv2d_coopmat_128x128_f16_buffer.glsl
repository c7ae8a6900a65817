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

// Eight fp16 values each: rows of the weight tile, then of the pixel tile; later 16 channels of
// each subgroup tile of y. Rows are padded by one vec8 against bank conflicts.
shared uvec4 tiles[1280];

int channel, pixel;  // origin of the tile

// Pixels that this invocation stores: `count` (0 to 4), clipped to y; `pixels`: their indices in
// channel 0 of y.
int count;
ivec4 pixels;

void begin_column(int tile_column) {
  int plane = y_sizes[2] * y_sizes[3];
  int first = pixel + tile_column;
  count = min(y_sizes[0] * plane - first, 4);
  for (int c = 0; c < 4; c++) {
    int image = first + min(c, count - 1);
    int within = unravel(image, plane);
    pixels[c] = image * y_sizes[1] * plane + within;
  }
}

bool is_inside(int tile_row) { return count > 0 && channel + tile_row < y_sizes[1]; }
ivec4 output_indices(int tile_row) { return pixels + (channel + tile_row) * y_sizes[2] * y_sizes[3]; }

struct EpilogueOperands {
  bias_Packed bias;
  uvec2 addend;  // packed fp16
};

EpilogueOperands load_epilogue(int tile_row) {
  EpilogueOperands epilogue = EpilogueOperands(bias_Packed(0), uvec2(0));
  if (!is_inside(tile_row)) return epilogue;
  if (has_bias != 0) epilogue.bias = bias_load_packed(channel + tile_row);
  if (has_addend != 0) {
    ivec4 at = output_indices(tile_row);
    if (ALIGNED_4) {
      epilogue.addend = addend_load4_packed(at.x / 4);
    } else {
      for (int c = 0; c < count; c++) epilogue.addend[c / 2] |= packHalf2x16(vec2(addend_load(at[c]), 0.0)) << (c % 2 * 16);
    }
  }
  return epilogue;
}

void store_row4(vec4 v, int tile_row, EpilogueOperands epilogue) {
  if (!is_inside(tile_row)) return;
  v = activate(v + bias_unpack(epilogue.bias, channel + tile_row) + addend_unpack4(epilogue.addend));
  ivec4 at = output_indices(tile_row);
  if (ALIGNED_4) {
    y_store4(at.x / 4, v);
  } else {
    for (int c = 0; c < count; c++) y_store(at[c], v[c]);
  }
}

void main() {
  int lane = int(gl_LocalInvocationID.x);
  int blocks = (y_sizes[1] + 127) / 128;
  int block = workgroup_index();
  channel = unravel(block, blocks) * 128;
  pixel = block * 128;
  int chunks = (group_in + 31) / 32;
  int steps = chunks * WINDOW_H * WINDOW_W;
  // Loads per step: eight channels of each weight row, and 16 channels of one
  // pixel's inputs.
  int left_c = lane % 4 * 8;
  int left_row0 = min(channel + lane / 4 + 0, y_sizes[1] - 1);
  uvec4 left0;
  int left_row1 = min(channel + lane / 4 + 64, y_sizes[1] - 1);
  uvec4 left1;
  int right_c = lane / 128 * 16;
  int image = pixel + lane % 128;
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
  // The prologue loads are those of step -1: a second copy of the code would dominate the module
  // size.
  for (int s = -1; s < steps; s++) {
    if (s >= 0) {
      barrier();
      tiles[(lane / 4 + 0) * 5 + lane % 4] = left0;
      tiles[(lane / 4 + 64) * 5 + lane % 4] = left1;
      tiles[640 + lane % 128 * 5 + right_c / 8] = uvec4(pack_f16x2(right0, right1), pack_f16x2(right2, right3), pack_f16x2(right4, right5), pack_f16x2(right6, right7));
      tiles[641 + lane % 128 * 5 + right_c / 8] = uvec4(pack_f16x2(right8, right9), pack_f16x2(right10, right11), pack_f16x2(right12, right13), pack_f16x2(right14, right15));
      barrier();
    }
    if (s + 1 < steps) {
      int tap = divide(s + 1, chunks);
      int c = (s + 1 - tap * chunks) * 32;
      left0 = uvec4(0);
      if (c + left_c < group_in) left0 = weight_vec8_data[((left_row0 * WINDOW_H * WINDOW_W + tap) * group_in + c + left_c) / 8];
      left1 = uvec4(0);
      if (c + left_c < group_in) left1 = weight_vec8_data[((left_row1 * WINDOW_H * WINDOW_W + tap) * group_in + c + left_c) / 8];
      int tap_y = tap / WINDOW_W;
      ivec2 at = corner + ivec2(tap_y, tap - tap_y * WINDOW_W) * ivec2(dilation[0], dilation[1]);
      bool inside = in_bounds && all(greaterThanEqual(at, ivec2(0))) && at.x < x_sizes[2] && at.y < x_sizes[3];
      c += right_c;
      int count = inside ? group_in - c : 0;
      int x_index = (image * x_sizes[1] + c) * x_sizes[2] * x_sizes[3] + at.x * x_sizes[3] + at.y;
      right0 = F16Value(0.0);
      if (count > 0) right0 = F16Value(x_data[x_index + 0 * x_sizes[2] * x_sizes[3]]);
      right1 = F16Value(0.0);
      if (count > 1) right1 = F16Value(x_data[x_index + 1 * x_sizes[2] * x_sizes[3]]);
      right2 = F16Value(0.0);
      if (count > 2) right2 = F16Value(x_data[x_index + 2 * x_sizes[2] * x_sizes[3]]);
      right3 = F16Value(0.0);
      if (count > 3) right3 = F16Value(x_data[x_index + 3 * x_sizes[2] * x_sizes[3]]);
      right4 = F16Value(0.0);
      if (count > 4) right4 = F16Value(x_data[x_index + 4 * x_sizes[2] * x_sizes[3]]);
      right5 = F16Value(0.0);
      if (count > 5) right5 = F16Value(x_data[x_index + 5 * x_sizes[2] * x_sizes[3]]);
      right6 = F16Value(0.0);
      if (count > 6) right6 = F16Value(x_data[x_index + 6 * x_sizes[2] * x_sizes[3]]);
      right7 = F16Value(0.0);
      if (count > 7) right7 = F16Value(x_data[x_index + 7 * x_sizes[2] * x_sizes[3]]);
      right8 = F16Value(0.0);
      if (count > 8) right8 = F16Value(x_data[x_index + 8 * x_sizes[2] * x_sizes[3]]);
      right9 = F16Value(0.0);
      if (count > 9) right9 = F16Value(x_data[x_index + 9 * x_sizes[2] * x_sizes[3]]);
      right10 = F16Value(0.0);
      if (count > 10) right10 = F16Value(x_data[x_index + 10 * x_sizes[2] * x_sizes[3]]);
      right11 = F16Value(0.0);
      if (count > 11) right11 = F16Value(x_data[x_index + 11 * x_sizes[2] * x_sizes[3]]);
      right12 = F16Value(0.0);
      if (count > 12) right12 = F16Value(x_data[x_index + 12 * x_sizes[2] * x_sizes[3]]);
      right13 = F16Value(0.0);
      if (count > 13) right13 = F16Value(x_data[x_index + 13 * x_sizes[2] * x_sizes[3]]);
      right14 = F16Value(0.0);
      if (count > 14) right14 = F16Value(x_data[x_index + 14 * x_sizes[2] * x_sizes[3]]);
      right15 = F16Value(0.0);
      if (count > 15) right15 = F16Value(x_data[x_index + 15 * x_sizes[2] * x_sizes[3]]);
    }
    if (s < 0) continue;
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
      coopmat_load_b_transposed(b0, 640 + (0 + subgroup_column) * 5 + (0) * 2, 5);
      coopmat_multiply_add(sum0_0, a0, b0);
      coopmat_multiply_add(sum1_0, a1, b0);
      coopmat_multiply_add(sum2_0, a2, b0);
      coopmat_multiply_add(sum3_0, a3, b0);
      CoopMatB b1;
      coopmat_load_b_transposed(b1, 640 + (16 + subgroup_column) * 5 + (0) * 2, 5);
      coopmat_multiply_add(sum0_1, a0, b1);
      coopmat_multiply_add(sum1_1, a1, b1);
      coopmat_multiply_add(sum2_1, a2, b1);
      coopmat_multiply_add(sum3_1, a3, b1);
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
      coopmat_load_b_transposed(b0, 640 + (0 + subgroup_column) * 5 + (1) * 2, 5);
      coopmat_multiply_add(sum0_0, a0, b0);
      coopmat_multiply_add(sum1_0, a1, b0);
      coopmat_multiply_add(sum2_0, a2, b0);
      coopmat_multiply_add(sum3_0, a3, b0);
      CoopMatB b1;
      coopmat_load_b_transposed(b1, 640 + (16 + subgroup_column) * 5 + (1) * 2, 5);
      coopmat_multiply_add(sum0_1, a0, b1);
      coopmat_multiply_add(sum1_1, a1, b1);
      coopmat_multiply_add(sum2_1, a2, b1);
      coopmat_multiply_add(sum3_1, a3, b1);
    }
  }
}
