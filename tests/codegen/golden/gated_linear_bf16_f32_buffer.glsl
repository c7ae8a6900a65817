#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// Factor of element k of the row.
float norm_factor(int k, float row_scale) { return HAS_RMS_NORM ? rms_weight_load(k) * row_scale : 1.0; }

float rms_row_scale() {
  if (!HAS_RMS_NORM) return 1.0;
  float squares = 0.0;
  for (int k = 0; k < depth; k++) squares += x_load(k) * x_load(k);
  return inversesqrt(squares / float(depth) + rms_eps_load(0));
}

// Dot product of a row of x and a row of the weight, plus the bias.
float product(int row, int column) {
  int steps = (depth + STEP - 1) / STEP;
  int word_index = column / 32 * steps * 32 + column % 32;
  float sum = 0.0;
  float row_scale = rms_row_scale();
  for (int step = 0; step < steps; step++) {
    ivec4 words = weight_load4(word_index + step * 32);
    for (int j = 0; j < 2; j++) {
      int k = step * STEP + 4 * j;
      int group = group_index(min(k, depth - 1), column);
      vec4 values = unpack_values(words, j, zero_point_of(group));
      float partial = 0.0;
      float x_sum = 0.0;
      for (int c = 0; c < min(4, depth - k); c++) {
        float v = x_load(row * depth + k + c) * norm_factor(k + c, row_scale);
        partial += v * values[c];
        x_sum += v;
      }
      sum += partial * scales_load(group);
      if (HAS_OFFSETS) sum += x_sum * offsets_load(group);
    }
  }
  return sum + (has_bias != 0 ? bias_load(column) : 0.0);
}

void main() {
  int i = flat_index();
  int row = i;
  int column = unravel(row, columns);
  if (row >= row_count) return;
  float value = finish(product(row, column), i);
  value *= product(row, column + columns);
  y_store(i, value);
}
