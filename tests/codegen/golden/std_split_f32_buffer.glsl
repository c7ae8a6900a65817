#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float elements_of(int part) { return float(clamp(count - part * part_length, 0, part_length)); }

void main() {
  int unclamped_row = workgroup_index();
  int row = min(unclamped_row, rows - 1);
  float total = 0.0;
  for (int s = lane(); s < splits; s += LANES) total += elements_of(s) * moments_load(2 * (row * splits + s));
  float mean = workgroup_sum(total) / float(count);
  float squares = 0.0;
  for (int s = lane(); s < splits; s += LANES) {
    float deviation = moments_load(2 * (row * splits + s)) - mean;
    squares += moments_load(2 * (row * splits + s) + 1) + elements_of(s) * deviation * deviation;
  }
  float variance = workgroup_sum(squares) / max(float(count) - correction, 0.0);
  if (lane() == 0 && unclamped_row == row) y_store(row, sqrt(variance));
}
