#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// What element k of the row is multiplied by.
float norm_of(int k, float root) { return HAS_NORM ? norm_at(k) * root : 1.0; }

float root_of_row() {
  if (!HAS_NORM) return 1.0;
  float squares = 0.0;
  for (int k = 0; k < depth; k++) squares += x_at(k) * x_at(k);
  return inversesqrt(squares / float(depth) + norm_eps_at(0));
}

// The product of a row of x and one of the weight's.
float product(int row, int column) {
  int steps = (depth + STEP - 1) / STEP;
  int words_at = column / 32 * steps * 32 + column % 32;
  float sum = 0.0;
  float root = root_of_row();
  for (int step = 0; step < steps; step++) {
    ivec4 words = weight_at4(words_at + step * 32);
    for (int j = 0; j < 2; j++) {
      int k = step * STEP + 4 * j;
      int group = group_at(min(k, depth - 1), column);
      vec4 four = numbers(words, j, zero_of(group));
      float part = 0.0;
      float total = 0.0;
      for (int c = 0; c < min(4, depth - k); c++) {
        float v = x_at(row * depth + k + c) * norm_of(k + c, root);
        part += v * four[c];
        total += v;
      }
      sum += part * scales_at(group);
      if (HAS_OFFSETS) sum += total * offsets_at(group);
    }
  }
  return sum + (has_bias != 0 ? bias_at(column) : 0.0);
}

void main() {
  int i = flat_index();
  int row = i;
  int column = take(row, columns);
  if (row >= row_count) return;
  float value = finish(product(row, column), i);
  value *= product(row, column + columns);
  y_put(i, value);
}
