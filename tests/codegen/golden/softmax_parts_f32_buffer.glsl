#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int group = workgroup_index();
  int part = unravel(group, splits);
  int unclamped_row = group * COLUMNS + column();
  int outer = min(unclamped_row, rows - 1);
  int within = unravel(outer, inner);
  int base = outer * count * inner + within;
  int begin = min(part * part_length, count);
  int end = min(begin + part_length, count);
  float part_max = -INF;
  for (int k = begin + column_lane(); k < end; k += COLUMN_LANES) part_max = max(part_max, x_load(base + k * inner));
  part_max = column_max(part_max);
  // A finite base avoids NaN (-INF - -INF).
  float subtracted = part_max == -INF ? 0.0 : part_max;
  float sum = 0.0;
  for (int k = begin + column_lane(); k < end; k += COLUMN_LANES) sum += exp(x_load(base + k * inner) - subtracted);
  sum = column_sum(sum);
  if (column_lane() == 0 && unclamped_row < rows) {
    int index = (outer * splits + part) * inner + within;
    parts_store(2 * index, part_max);
    parts_store(2 * index + 1, sum);
  }
}
