#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#define VALUE float

void main() {
  int index = workgroup_index();
  int row = divide(min(index, rows * splits - 1), splits);
  int first = row * splits;
  float row_max = -INF;
  for (int s = lane(); s < splits; s += LANES) row_max = max(row_max, parts_load(2 * (first + s)));
  row_max = workgroup_max(row_max);
  float sum = 0.0;
  for (int s = lane(); s < splits; s += LANES) {
    sum += parts_load(2 * (first + s) + 1) * exp(parts_load(2 * (first + s)) - row_max);
  }
  sum = workgroup_sum(sum);
  int begin = min((index - first) * part_length, count);
  for (int k = begin + lane(); k < (index < rows * splits ? min(begin + part_length, count) : 0); k += LANES) {
    float v = x_load(row * count + k);
    y_store(row * count + k, v - row_max - log(sum));
  }
}
