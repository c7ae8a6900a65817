#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int unclamped = workgroup_index();
  int part = min(unclamped, rows * splits - 1);
  int row = divide(part, splits);
  int begin = min((part - row * splits) * part_length, count);
  int end = min(begin + part_length, count);
  float total = 0.0;
  for (int k = begin + lane(); k < end; k += LANES) total += x_load(row * count + k);
  float mean = workgroup_sum(total) / float(max(end - begin, 1));
  float squares = 0.0;
  for (int k = begin + lane(); k < end; k += LANES) {
    float deviation = x_load(row * count + k) - mean;
    squares += deviation * deviation;
  }
  squares = workgroup_sum(squares);
  if (lane() == 0 && unclamped == part) {
    moments_store(2 * part, mean);
    moments_store(2 * part + 1, squares);
  }
}
