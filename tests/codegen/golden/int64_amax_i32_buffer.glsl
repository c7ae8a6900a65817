#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

ivec2 combine(ivec2 total, ivec2 v) { return int64_less(total, v) ? v : total; }

ivec2 load(int i) { return ivec2(x_load(2 * i), x_load(2 * i + 1)); }

void store(int i, ivec2 v) {
  y_store(2 * i, v.x);
  y_store(2 * i + 1, v.y);
}

void main() {
  int row = flat_index();
  if (row >= rows) return;
  int outer = row;
  int within = unravel(outer, inner);
  int first = outer * count * inner + within;
  ivec2 total = count > 0 ? load(first) : ivec2(0);
  for (int k = 1; k < count; k++) {
    total = combine(total, load(first + k * inner));
  }
  store(row, total);
}
