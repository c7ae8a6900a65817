#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int part = workgroup_index();
  int row = divide(min(part, rows * splits - 1), splits);
  int first = row * splits;
  float mean = row_mean(first);
  float scale = inversesqrt(row_squares(first, mean) / float(count) + eps);
  if (part >= rows * splits) return;
  int weights = divide(count, inner);
  int first_weight = (row - divide(row, groups) * groups) * weights;
  int begin = (part - first) * part_length / 4;
  int end = begin + elements_of(part - first) / 4;
  for (int k = begin + lane(); k < end; k += LANES) {
    int w = first_weight + divide(4 * k, inner);
    float factor = scale * (has_weight != 0 ? weight_load(w) : 1.0);
    float summand = has_bias != 0 ? bias_load(w) : 0.0;
    int i = row * (count / 4) + k;
    y_store4(i, activate((x_load4(i) - mean) * factor + summand));
  }
}
