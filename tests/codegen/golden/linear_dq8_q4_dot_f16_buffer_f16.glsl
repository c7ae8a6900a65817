#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_spirv_intrinsics : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// Numbers 0 .. 15 in the low halves of bytes, less 8, as signed bytes.
int less_8(int halves) {
  int four = (halves & 0x0f0f0f0f) ^ 0x08080808;
  return four | (four & 0x08080808) * 0x1e;
}

void main() {
  int row = flat_index();
  int column = take(row, columns);
  row *= ROWS;
  if (row >= row_count) return;
  int steps = (depth + STEP - 1) / STEP;
  int words_at = column / 32 * steps * 32 + column % 32;
  int zeros[4];
  int starts[4];
  int products[4] = int[](0, 0, 0, 0);
  float sums[4] = float[](0.0, 0.0, 0.0, 0.0);
  for (int r = 0; r < ROWS; r++) {
    int own = min(row + r, row_count - 1);
    zeros[r] = x_zero_at(own);
    starts[r] = own * steps * (STEP / 4);
  }
  int total = 0;
  int group = 0;
  for (int step = 0; step < steps; step++) {
    ivec4 words = weight_at4(words_at + step * 32);
    for (int j = 0; j < 4; j++) {
      int next = min(step * STEP + j * (STEP / 4), depth - 1) / GROUP;
      if (next != group) {
        float scale = scales_at(group * scale_columns + column);
        for (int r = 0; r < ROWS; r++) {
          sums[r] += scale * float(products[r] - zeros[r] * total);
          products[r] = 0;
        }
        total = 0;
        group = next;
      }
      int at = step * (STEP / 4) + j * 2;
      int low = less_8(words[j]);
      int high = less_8(words[j] >> 4);
      total = dot4(high, 0x01010101, dot4(low, 0x01010101, total));
      for (int r = 0; r < ROWS; r++) {
        products[r] = dot4(high, x_at(starts[r] + at + 1), dot4(low, x_at(starts[r] + at), products[r]));
      }
    }
  }
  float scale = scales_at(group * scale_columns + column);
  for (int r = 0; r < min(ROWS, row_count - row); r++) {
    float sum = (sums[r] + scale * float(products[r] - zeros[r] * total)) * x_scale_at(row + r);
    int i = (row + r) * columns + column;
    y_put(i, finish(sum + (has_bias != 0 ? bias_at(column) : 0.0), i));
  }
}
