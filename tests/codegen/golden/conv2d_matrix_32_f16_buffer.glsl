#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_NV_cooperative_matrix : require
layout(set = 0, binding = 1, std430) readonly buffer weight_eights { uvec4 weight_wide[]; };

// Eight halves each: rows of weights, then of pixels, later 16 channels of each part of y. Eight to spare behind each row put rows into different banks.
shared uvec4 tiles[1152];

int channel, pixel;  // of the tile's first element

// What this invocation puts: `count` pixels, none outside of y, in channel 0 at `pixels` of y.
int count;
ivec4 pixels;

void take_column(int tile_column) {
  int plane = y_sizes[2] * y_sizes[3];
  int first = pixel + tile_column;
  count = min(y_sizes[0] * plane - first, 4);
  for (int c = 0; c < 4; c++) {
    int image = first + min(c, count - 1);
    int within = take(image, plane);
    pixels[c] = image * y_sizes[1] * plane + within;
  }
}

bool is_inside(int tile_row) { return count > 0 && channel + tile_row < y_sizes[1]; }
ivec4 places_of(int tile_row) { return pixels + (channel + tile_row) * y_sizes[2] * y_sizes[3]; }

struct Ends {
  bias_Loaded bias;
  uvec2 addend;  // halves
};

Ends ends_at(int tile_row) {
  Ends ends = Ends(bias_Loaded(0), uvec2(0));
  if (!is_inside(tile_row)) return ends;
  if (has_bias != 0) ends.bias = bias_load(channel + tile_row);
  if (has_addend != 0) {
    ivec4 at = places_of(tile_row);
    if (FOURS) {
      ends.addend = addend_load4(at.x / 4);
    } else {
      for (int c = 0; c < count; c++) ends.addend[c / 2] |= packHalf2x16(vec2(addend_at(at[c]), 0.0)) << (c % 2 * 16);
    }
  }
  return ends;
}

void put(vec4 v, int tile_row, Ends ends) {
  if (!is_inside(tile_row)) return;
  v = activate(v + bias_open(ends.bias, channel + tile_row) + addend_open4(ends.addend));
  ivec4 at = places_of(tile_row);
  if (FOURS) {
    y_put4(at.x / 4, v);
  } else {
    for (int c = 0; c < count; c++) y_put(at[c], v[c]);
  }
}

void main() {
  int lane = int(gl_LocalInvocationID.x) % 128;
  int team = int(gl_LocalInvocationID.x) / 128;
  int team_tile = team * 576;
  int blocks = (y_sizes[1] + 31) / 32;
  int block = workgroup_number();
  channel = take(block, blocks) * 32;
  pixel = block * 32;
  int chunks = (group_in + 63) / 64;
  int steps = chunks * WINDOW_H * WINDOW_W;
  // What this invocation loads in each step: eight channels of some weights, 16 of one pixel's inputs.
  int left_c = lane % 8 * 8;
  int left_row0 = min(channel + lane / 8 + 0, y_sizes[1] - 1);
  uvec4 left0;
  int left_row1 = min(channel + lane / 8 + 16, y_sizes[1] - 1);
  uvec4 left1;
  int right_c = lane / 32 * 16;
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
  int whole = steps;
  steps = (whole + 1) / 2;
  int first_step = team * steps;
  // The loads before the first step are those of a step -1, as twice their code would be most of the module.
  for (int s = -1; s < steps; s++) {
    if (s >= 0) {
      barrier();
      tiles[team_tile + (lane / 8 + 0) * 9 + lane % 8] = left0;
      tiles[team_tile + (lane / 8 + 16) * 9 + lane % 8] = left1;
      tiles[team_tile + 288 + lane % 32 * 9 + right_c / 8] = uvec4(two_halves(right0, right1), two_halves(right2, right3), two_halves(right4, right5), two_halves(right6, right7));
      tiles[team_tile + 289 + lane % 32 * 9 + right_c / 8] = uvec4(two_halves(right8, right9), two_halves(right10, right11), two_halves(right12, right13), two_halves(right14, right15));
      barrier();
    }
    if (s + 1 < steps) {
      int place = divide(first_step + s + 1, chunks);
      int c = (first_step + s + 1 - place * chunks) * 64;
      if (first_step + s + 1 >= whole) c = group_in;
      left0 = uvec4(0);
      if (c + left_c < group_in) left0 = weight_wide[((left_row0 * WINDOW_H * WINDOW_W + place) * group_in + c + left_c) / 8];
      left1 = uvec4(0);
      if (c + left_c < group_in) left1 = weight_wide[((left_row1 * WINDOW_H * WINDOW_W + place) * group_in + c + left_c) / 8];
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
    }
    if (s < 0) continue;
    {
      MatrixA a0;
      matrix_load_a(a0, team_tile + (0) * 9 + (0 + group * 1) * 2, 9);
      MatrixA a1;
      matrix_load_a(a1, team_tile + (16) * 9 + (0 + group * 1) * 2, 9);
      MatrixB b0;
      matrix_load_b_turned(b0, team_tile + 288 + (0) * 9 + (0 + group * 1) * 2, 9);
      matrix_multiply_add(sum0_0, a0, b0);
      matrix_multiply_add(sum1_0, a1, b0);
      MatrixB b1;
      matrix_load_b_turned(b1, team_tile + 288 + (16) * 9 + (0 + group * 1) * 2, 9);
      matrix_multiply_add(sum0_1, a0, b1);
      matrix_multiply_add(sum1_1, a1, b1);
    }
  }
}
