#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

int elements_of(int part) {
  return clamp(count - part * part_length, 0, part_length);
}

void main() {
  int part = workgroup_index();
  int row = divide(min(part, rows * splits - 1), splits);
  int first = row * splits;
  float total = 0.0;
  for (int s = lane(); s < splits; s += LANES) {
    total += float(elements_of(s)) * moments_load(2 * (first + s));
  }
  float mean = workgroup_sum(total) / float(count);
  float squares = 0.0;
  for (int s = lane(); s < splits; s += LANES) {
    float deviation = moments_load(2 * (first + s)) - mean;
    squares += moments_load(2 * (first + s) + 1) + float(elements_of(s)) * deviation * deviation;
  }
  float scale = inversesqrt(workgroup_sum(squares) / float(count) + eps);
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
    y_store4(i, (x_load4(i) - mean) * factor + summand);
  }
}
