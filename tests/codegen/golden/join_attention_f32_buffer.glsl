#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int row = i;
  int column = take(row, depth);
  float top = -INF;
  [[unroll]] for (int k = 0; k < COUNT; k++) top = max(top, tops_at(row * COUNT + k));
  // Where no part has seen a key any finite number will do.
  if (top == -INF) top = 0.0;
  float sum = 0.0;
  float total = 0.0;
  [[unroll]] for (int k = 0; k < COUNT; k++) {
    float weight = exp(tops_at(row * COUNT + k) - top);
    sum += weight * sums_at(row * COUNT + k);
    total += weight * parts_at((row * COUNT + k) * depth + column);
  }
  y_put(i, total / (sum == 0.0 ? 1.0 : sum));
}
