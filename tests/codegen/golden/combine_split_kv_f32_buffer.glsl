#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int row = i;
  int column = unravel(row, depth);
  float global_max = -INF;
  [[unroll]] for (int k = 0; k < COUNT; k++) global_max = max(global_max, row_max_load(row * COUNT + k));
  // No split has a visible key: any finite maximum avoids NaN.
  if (global_max == -INF) global_max = 0.0;
  float sum = 0.0;
  float total = 0.0;
  [[unroll]] for (int k = 0; k < COUNT; k++) {
    float weight = exp(row_max_load(row * COUNT + k) - global_max);
    sum += weight * row_sum_load(row * COUNT + k);
    total += weight * partials_load((row * COUNT + k) * depth + column);
  }
  y_store(i, total / (sum == 0.0 ? 1.0 : sum));
}
