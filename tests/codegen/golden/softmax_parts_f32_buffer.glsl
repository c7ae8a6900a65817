#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int unclamped = workgroup_index();
  int index = min(unclamped, rows * splits - 1);
  int row = divide(index, splits);
  int begin = min((index - row * splits) * part_length, count);
  int end = min(begin + part_length, count);
  float part_max = -INF;
  for (int k = begin + lane(); k < end; k += LANES) part_max = max(part_max, x_load(row * count + k));
  part_max = workgroup_max(part_max);
  // A finite base avoids NaN (-INF - -INF).
  float base = part_max == -INF ? 0.0 : part_max;
  float sum = 0.0;
  for (int k = begin + lane(); k < end; k += LANES) sum += exp(x_load(row * count + k) - base);
  sum = workgroup_sum(sum);
  if (lane() == 0 && unclamped == index) {
    parts_store(2 * index, part_max);
    parts_store(2 * index + 1, sum);
  }
}
