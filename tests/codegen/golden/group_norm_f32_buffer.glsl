#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float load(int row, int k) { return x_at(row * count + k); }

void main() {
  int number = workgroup_number();
  int row = min(number, rows - 1);
  float mean = 0.0;
  float total = 0.0;
  for (int k = lane(); k < count; k += LANES) total += load(row, k);
  mean = sum_of(total) / float(count);
  float squares = 0.0;
  for (int k = lane(); k < count; k += LANES) {
    float off = load(row, k) - mean;
    squares += off * off;
  }
  float scale = inversesqrt(sum_of(squares) / float(count) + eps);
  int weights = divide(count, inner);
  int first = (row - divide(row, groups) * groups) * weights;
  for (int k = lane(); k < (number == row ? count : 0); k += LANES) {
    int w = first + divide(k, inner);
    float v = (load(row, k) - mean) * scale * (has_weight != 0 ? weight_at(w) : 1.0);
    v += has_bias != 0 ? bias_at(w) : 0.0;
    y_put(row * count + k, v);
  }
}
