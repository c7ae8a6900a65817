#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_spirv_intrinsics : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// Sign-extends the biased int4 values in the low nibbles to int8: q - 8.
int sign_extend_int4(int word) {
  int nibbles = (word & 0x0f0f0f0f) ^ 0x08080808;
  return nibbles | (nibbles & 0x08080808) * 0x1e;
}

void main() {
  int row = flat_index();
  int column = unravel(row, columns);
  row *= ROWS;
  if (row >= row_count) return;
  int steps = (depth + STEP - 1) / STEP;
  int word_index = column / 32 * steps * 32 + column % 32;
  int zeros[4];
  int starts[4];
  int dots[4] = int[](0, 0, 0, 0);
  float sums[4] = float[](0.0, 0.0, 0.0, 0.0);
  for (int r = 0; r < ROWS; r++) {
    int own_row = min(row + r, row_count - 1);
    zeros[r] = x_zero_load(own_row);
    starts[r] = own_row * steps * (STEP / 4);
  }
  int weight_sum = 0;
  int group = 0;
  for (int step = 0; step < steps; step++) {
    ivec4 words = weight_load4(word_index + step * 32);
    for (int j = 0; j < 4; j++) {
      int next_group = min(step * STEP + j * (STEP / 4), depth - 1) / GROUP;
      if (next_group != group) {
        float scale = scales_load(group * scale_columns + column);
        for (int r = 0; r < ROWS; r++) {
          sums[r] += scale * float(dots[r] - zeros[r] * weight_sum);
          dots[r] = 0;
        }
        weight_sum = 0;
        group = next_group;
      }
      int at = step * (STEP / 4) + j * 2;
      int low = sign_extend_int4(words[j]);
      int high = sign_extend_int4(words[j] >> 4);
      weight_sum = dot4(high, 0x01010101, dot4(low, 0x01010101, weight_sum));
      for (int r = 0; r < ROWS; r++) {
        dots[r] = dot4(high, x_load(starts[r] + at + 1), dot4(low, x_load(starts[r] + at), dots[r]));
      }
    }
  }
  float scale = scales_load(group * scale_columns + column);
  for (int r = 0; r < min(ROWS, row_count - row); r++) {
    float sum = (sums[r] + scale * float(dots[r] - zeros[r] * weight_sum)) * x_scale_load(row + r);
    int i = (row + r) * columns + column;
    y_store(i, finish(sum + (has_bias != 0 ? bias_load(column) : 0.0), i));
  }
}
