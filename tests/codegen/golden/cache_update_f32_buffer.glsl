#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
int position_of(int k) { return given == 1 ? positions_at(0) + k : positions_at(k); }

int row_of(int k) { return ring == 0 || position_of(k) < 0 ? position_of(k) : position_of(k) - divide(position_of(k), rows) * rows; }

// Whether no later slice has the place `at`.
bool is_last(int k, int at) {
  for (int later = k + 1; later < scanned; later++) {
    if (row_of(later) == at) return false;
  }
  return true;
}

void main() {
  int i = flat_index();
  if (i >= n) return;
  int outer = i;
  int within = take(outer, inner);
  int k = take(outer, count);
  int at = row_of(k);
  if (at >= 0 && at < rows && is_last(k, at)) y_put((outer * rows + at) * inner + within, src_at(i));
}
