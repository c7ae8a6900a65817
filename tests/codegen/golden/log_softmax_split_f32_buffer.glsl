#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#define VALUE float

float initial_max() {
  return -INF;
}

VALUE result_of(VALUE v, VALUE row_max, VALUE sum) {
  return v - row_max - precise_log(sum);
}

void main() {
  int group = workgroup_index();
  int part = unravel(group, splits);
  int unclamped_row = group * COLUMNS + column();
  int outer = min(unclamped_row, rows - 1);
  int within = unravel(outer, inner);
  int first = outer * splits * inner + within;
  float row_max = initial_max();
  for (int s = column_lane(); s < splits; s += COLUMN_LANES) row_max = max(row_max, parts_load(2 * (first + s * inner)));
  row_max = column_max(row_max);
  float sum = 0.0;
  for (int s = column_lane(); s < splits; s += COLUMN_LANES) {
    int index = 2 * (first + s * inner);
    sum += parts_load(index + 1) * exp(parts_load(index) - row_max);
  }
  sum = column_sum(sum);
  int base = outer * count * inner + within;
  int begin = min(part * part_length, count);
  for (int k = begin + column_lane(); k < (unclamped_row < rows ? min(begin + part_length, count) : 0); k += COLUMN_LANES) {
    float v = x_load(base + k * inner);
    y_store(base + k * inner, result_of(v, row_max, sum));
  }
}
