#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float load(int row, int k) { return x_load(row * count + k); }

void main() {
  int unclamped_row = workgroup_index();
  int row = min(unclamped_row, rows - 1);
  float mean = 0.0;
  float total = 0.0;
  for (int k = lane(); k < count; k += LANES) total += load(row, k);
  mean = workgroup_sum(total) / float(count);
  float squares = 0.0;
  for (int k = lane(); k < count; k += LANES) {
    float deviation = load(row, k) - mean;
    squares += deviation * deviation;
  }
  float scale = inversesqrt(workgroup_sum(squares) / float(count) + eps);
  int weights = divide(count, inner);
  int first = (row - divide(row, groups) * groups) * weights;
  for (int k = lane(); k < (unclamped_row == row ? count : 0); k += LANES) {
    int w = first + divide(k, inner);
    float v = (load(row, k) - mean) * scale * (has_weight != 0 ? weight_load(w) : 1.0);
    v += has_bias != 0 ? bias_load(w) : 0.0;
    y_store(row * count + k, activate(v));
  }
}
