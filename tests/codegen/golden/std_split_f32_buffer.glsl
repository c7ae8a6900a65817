#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int unclamped_row = workgroup_index();
  int row = min(unclamped_row, rows - 1);
  float mean = row_mean(row * splits);
  float variance = row_squares(row * splits, mean) / max(float(count) - correction, 0.0);
  if (lane() == 0 && unclamped_row == row) y_store(row, sqrt(variance));
}
