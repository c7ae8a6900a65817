#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_NV_cooperative_matrix : require
layout(set = 0, binding = 1, std430) readonly buffer weight_eights { uvec4 weight_wide[]; };

// Eight halves each: rows of weights, then of pixels, later 16 channels of each part of y. Eight to spare behind each row put rows into different banks.
shared uvec4 tiles[1088];

int channel, pixel;  // of the tile's first element

void put(vec4 v, int tile_row, int tile_column) {
  int plane = y_sizes[2] * y_sizes[3];
  int y_channel = channel + tile_row;
  int first = pixel + tile_column;
  int count = min(y_sizes[0] * plane - first, 4);
  if (count <= 0 || y_channel >= y_sizes[1]) return;
  if (has_bias != 0) v += bias_at(y_channel);
  ivec4 at;
  for (int c = 0; c < 4; c++) {
    int image = first + min(c, count - 1);
    int within = take(image, plane);
    at[c] = (image * y_sizes[1] + y_channel) * plane + within;
  }
  v = finish4(v, at);
  if (FOURS) {
    y_put4(at.x / 4, v);
  } else {
    for (int c = 0; c < count; c++) y_put(at[c], v[c]);
  }
}

void main() {
  int lane = int(gl_LocalInvocationID.x);
  int blocks = (y_sizes[1] + 31) / 32;
  int block = workgroup_number();
  channel = take(block, blocks) * 32;
  pixel = block * 32;
  int chunks = (group_in + 127) / 128;
  int steps = chunks * WINDOW_H * WINDOW_W;
  // What this invocation loads in each step: eight channels of some weights, 32 of one pixel's inputs.
  int left_c = lane % 16 * 8;
  int left_row0 = min(channel + lane / 16 + 0, y_sizes[1] - 1);
  uvec4 left0;
  int left_row1 = min(channel + lane / 16 + 8, y_sizes[1] - 1);
  uvec4 left1;
  int left_row2 = min(channel + lane / 16 + 16, y_sizes[1] - 1);
  uvec4 left2;
  int left_row3 = min(channel + lane / 16 + 24, y_sizes[1] - 1);
  uvec4 left3;
  int right_c = lane / 32 * 32;
  int image = pixel + lane % 32;
  int within = take(image, y_sizes[2] * y_sizes[3]);
  bool there = image < y_sizes[0];
  int y_row = divide(within, y_sizes[3]);
  ivec2 corner = ivec2(y_row, within - y_row * y_sizes[3]) * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  Half right0;
  Half right1;
  Half right2;
  Half right3;
  Half right4;
  Half right5;
  Half right6;
  Half right7;
  Half right8;
  Half right9;
  Half right10;
  Half right11;
  Half right12;
  Half right13;
  Half right14;
  Half right15;
  Half right16;
  Half right17;
  Half right18;
  Half right19;
  Half right20;
  Half right21;
  Half right22;
  Half right23;
  Half right24;
  Half right25;
  Half right26;
  Half right27;
  Half right28;
  Half right29;
  Half right30;
  Half right31;
  // The loads before the first step are those of a step -1, as twice their code would be most of the module.
  for (int s = -1; s < steps; s++) {
    if (s >= 0) {
      barrier();
      tiles[(lane / 16 + 0) * 17 + lane % 16] = left0;
      tiles[(lane / 16 + 8) * 17 + lane % 16] = left1;
      tiles[(lane / 16 + 16) * 17 + lane % 16] = left2;
      tiles[(lane / 16 + 24) * 17 + lane % 16] = left3;
      tiles[544 + lane % 32 * 17 + right_c / 8] = uvec4(two_halves(right0, right1), two_halves(right2, right3), two_halves(right4, right5), two_halves(right6, right7));
      tiles[545 + lane % 32 * 17 + right_c / 8] = uvec4(two_halves(right8, right9), two_halves(right10, right11), two_halves(right12, right13), two_halves(right14, right15));
      tiles[546 + lane % 32 * 17 + right_c / 8] = uvec4(two_halves(right16, right17), two_halves(right18, right19), two_halves(right20, right21), two_halves(right22, right23));
      tiles[547 + lane % 32 * 17 + right_c / 8] = uvec4(two_halves(right24, right25), two_halves(right26, right27), two_halves(right28, right29), two_halves(right30, right31));
      barrier();
    }
    if (s + 1 < steps) {
      int place = divide(s + 1, chunks);
      int c = (s + 1 - place * chunks) * 128;
      left0 = uvec4(0);
      if (c + left_c < group_in) left0 = weight_wide[((left_row0 * WINDOW_H * WINDOW_W + place) * group_in + c + left_c) / 8];
      left1 = uvec4(0);
      if (c + left_c < group_in) left1 = weight_wide[((left_row1 * WINDOW_H * WINDOW_W + place) * group_in + c + left_c) / 8];
      left2 = uvec4(0);
      if (c + left_c < group_in) left2 = weight_wide[((left_row2 * WINDOW_H * WINDOW_W + place) * group_in + c + left_c) / 8];
      left3 = uvec4(0);
      if (c + left_c < group_in) left3 = weight_wide[((left_row3 * WINDOW_H * WINDOW_W + place) * group_in + c + left_c) / 8];
      int place_y = place / WINDOW_W;
      ivec2 at = corner + ivec2(place_y, place - place_y * WINDOW_W) * ivec2(dilation[0], dilation[1]);
      bool inside = there && all(greaterThanEqual(at, ivec2(0))) && at.x < x_sizes[2] && at.y < x_sizes[3];
      c += right_c;
      int count = inside ? group_in - c : 0;
      int from = (image * x_sizes[1] + c) * x_sizes[2] * x_sizes[3] + at.x * x_sizes[3] + at.y;
      right0 = Half(0.0);
      if (count > 0) right0 = Half(x_data[from + 0 * x_sizes[2] * x_sizes[3]]);
      right1 = Half(0.0);
      if (count > 1) right1 = Half(x_data[from + 1 * x_sizes[2] * x_sizes[3]]);
      right2 = Half(0.0);
      if (count > 2) right2 = Half(x_data[from + 2 * x_sizes[2] * x_sizes[3]]);
      right3 = Half(0.0);
      if (count > 3) right3 = Half(x_data[from + 3 * x_sizes[2] * x_sizes[3]]);
      right4 = Half(0.0);
      if (count > 4) right4 = Half(x_data[from + 4 * x_sizes[2] * x_sizes[3]]);
      right5 = Half(0.0);
      if (count > 5) right5 = Half(x_data[from + 5 * x_sizes[2] * x_sizes[3]]);
      right6 = Half(0.0);
      if (count > 6) right6 = Half(x_data[from + 6 * x_sizes[2] * x_sizes[3]]);
      right7 = Half(0.0);
      if (count > 7) right7 = Half(x_data[from + 7 * x_sizes[2] * x_sizes[3]]);
      right8 = Half(0.0);
      if (count > 8) right8 = Half(x_data[from + 8 * x_sizes[2] * x_sizes[3]]);
      right9 = Half(0.0);
      if (count > 9) right9 = Half(x_data[from + 9 * x_sizes[2] * x_sizes[3]]);
      right10 = Half(0.0);
      if (count > 10) right10 = Half(x_data[from + 10 * x_sizes[2] * x_sizes[3]]);
      right11 = Half(0.0);
      if (count > 11) right11 = Half(x_data[from + 11 * x_sizes[2] * x_sizes[3]]);
      right12 = Half(0.0);
      if (count > 12) right12 = Half(x_data[from + 12 * x_sizes[2] * x_sizes[3]]);
      right13 = Half(0.0);
      if (count > 13) right13 = Half(x_data[from + 13 * x_sizes[2] * x_sizes[3]]);
      right14 = Half(0.0);
      if (count > 14) right14 = Half(x_data[from + 14 * x_sizes[2] * x_sizes[3]]);
      right15 = Half(0.0);
      if (count > 15) right15 = Half(x_data[from + 15 * x_sizes[2] * x_sizes[3]]);
      right16 = Half(0.0);
      if (count > 16) right16 = Half(x_data[from + 16 * x_sizes[2] * x_sizes[3]]);
      right17 = Half(0.0);
      if (count > 17) right17 = Half(x_data[from + 17 * x_sizes[2] * x_sizes[3]]);
      right18 = Half(0.0);
      if (count > 18) right18 = Half(x_data[from + 18 * x_sizes[2] * x_sizes[3]]);
      right19 = Half(0.0);
      if (count > 19) right19 = Half(x_data[from + 19 * x_sizes[2] * x_sizes[3]]);
      right20 = Half(0.0);
      if (count > 20) right20 = Half(x_data[from + 20 * x_sizes[2] * x_sizes[3]]);
      right21 = Half(0.0);
      if (count > 21) right21 = Half(x_data[from + 21 * x_sizes[2] * x_sizes[3]]);
      right22 = Half(0.0);
      if (count > 22) right22 = Half(x_data[from + 22 * x_sizes[2] * x_sizes[3]]);
      right23 = Half(0.0);
      if (count > 23) right23 = Half(x_data[from + 23 * x_sizes[2] * x_sizes[3]]);
      right24 = Half(0.0);
      if (count > 24) right24 = Half(x_data[from + 24 * x_sizes[2] * x_sizes[3]]);
      right25 = Half(0.0);
      if (count > 25) right25 = Half(x_data[from + 25 * x_sizes[2] * x_sizes[3]]);
      right26 = Half(0.0);
      if (count > 26) right26 = Half(x_data[from + 26 * x_sizes[2] * x_sizes[3]]);
      right27 = Half(0.0);
      if (count > 27) right27 = Half(x_data[from + 27 * x_sizes[2] * x_sizes[3]]);
      right28 = Half(0.0);
      if (count > 28) right28 = Half(x_data[from + 28 * x_sizes[2] * x_sizes[3]]);
      right29 = Half(0.0);
      if (count > 29) right29 = Half(x_data[from + 29 * x_sizes[2] * x_sizes[3]]);
      right30 = Half(0.0);
      if (count > 30) right30 = Half(x_data[from + 30 * x_sizes[2] * x_sizes[3]]);
      right31 = Half(0.0);
      if (count > 31) right31 = Half(x_data[from + 31 * x_sizes[2] * x_sizes[3]]);
    }
    if (s < 0) continue;
    {
      MatrixA a0;
      matrix_load_a(a0, (0) * 17 + (0 + group * 2) * 2, 17);
      MatrixA a1;
      matrix_load_a(a1, (16) * 17 + (0 + group * 2) * 2, 17);
      MatrixB b0;
      matrix_load_b_turned(b0, 544 + (0) * 17 + (0 + group * 2) * 2, 17);
      matrix_multiply_add(sum0_0, a0, b0);
      matrix_multiply_add(sum1_0, a1, b0);
      MatrixB b1;
      matrix_load_b_turned(b1, 544 + (16) * 17 + (0 + group * 2) * 2, 17);
      matrix_multiply_add(sum0_1, a0, b1);
      matrix_multiply_add(sum1_1, a1, b1);
    }
    {
      MatrixA a0;
      matrix_load_a(a0, (0) * 17 + (1 + group * 2) * 2, 17);
      MatrixA a1;
      matrix_load_a(a1, (16) * 17 + (1 + group * 2) * 2, 17);
      MatrixB b0;
      matrix_load_b_turned(b0, 544 + (0) * 17 + (1 + group * 2) * 2, 17);
      matrix_multiply_add(sum0_0, a0, b0);
      matrix_multiply_add(sum1_0, a1, b0);
      MatrixB b1;
      matrix_load_b_turned(b1, 544 + (16) * 17 + (1 + group * 2) * 2, 17);
      matrix_multiply_add(sum0_1, a0, b1);
      matrix_multiply_add(sum1_1, a1, b1);
    }
  }
}
