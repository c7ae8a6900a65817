#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

shared float partial[256];  // [row][part][column]

void main() {
  int lane = int(gl_LocalInvocationID.x);
  int tile = workgroup_number();
  bool inside = 32 * tile < columns;
  int steps = depth / STEP;
  int column = 32 * (inside ? tile : 0) + lane % 32;
  int own_column = lane % 64 < 32 ? column : min(column, columns - 1) + columns;
  float sum0 = 0.0;
  int row0 = min(0, row_count - 1) * depth / 4;
  for (int step = lane / 64; step < steps; step += 4) {
    ivec4 words = weight_at4((own_column / 32 * steps + step) * 32 + own_column % 32);
    int group = group_at(step * STEP, own_column);
    float scale = scales_at(group);
    float zero = zero_of(group);
    float dot0 = 0.0;
    vec4 fours0 = numbers(words, 0, zero);
    dot0 += dot(x_at4(row0 + step * (STEP / 4) + 0), fours0);
    vec4 fours1 = numbers(words, 1, zero);
    dot0 += dot(x_at4(row0 + step * (STEP / 4) + 1), fours1);
    vec4 fours2 = numbers(words, 2, zero);
    dot0 += dot(x_at4(row0 + step * (STEP / 4) + 2), fours2);
    vec4 fours3 = numbers(words, 3, zero);
    dot0 += dot(x_at4(row0 + step * (STEP / 4) + 3), fours3);
    vec4 fours4 = numbers(words, 4, zero);
    dot0 += dot(x_at4(row0 + step * (STEP / 4) + 4), fours4);
    vec4 fours5 = numbers(words, 5, zero);
    dot0 += dot(x_at4(row0 + step * (STEP / 4) + 5), fours5);
    vec4 fours6 = numbers(words, 6, zero);
    dot0 += dot(x_at4(row0 + step * (STEP / 4) + 6), fours6);
    vec4 fours7 = numbers(words, 7, zero);
    dot0 += dot(x_at4(row0 + step * (STEP / 4) + 7), fours7);
    sum0 += scale * dot0;
  }
  partial[0 + lane] = sum0;
  barrier();
  int row = lane / 32;
  if (!inside || row >= row_count || row >= 1 || column >= columns) return;
  float sum = 0.0;
  for (int part = 0; part < 4; part++) sum += partial[row * 256 + part * 64 + lane % 32];
  int i = row * columns + column;
  float value = finish(sum + (has_bias != 0 ? bias_at(column) : 0.0), i);
  float other = 0.0;
  for (int part = 0; part < 4; part++) other += partial[part * 64 + 32 + lane % 32];
  value *= other + (has_bias != 0 ? bias_at(columns + column) : 0.0);
  y_put(i, value);
}
