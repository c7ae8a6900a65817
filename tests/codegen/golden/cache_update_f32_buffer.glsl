#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
int position_of(int k) { return position_count == 1 ? positions_load(0) + k : positions_load(k); }

int target_row(int k) { return ring == 0 || position_of(k) < 0 ? position_of(k) : position_of(k) - divide(position_of(k), rows) * rows; }

// Whether no later slice has the target `at`.
bool is_last(int k, int at) {
  for (int later = k + 1; later < compared_slices; later++) {
    if (target_row(later) == at) return false;
  }
  return true;
}

void main() {
  int i = flat_index();
  if (i >= n) return;
  int outer = i;
  int within = unravel(outer, inner);
  int k = unravel(outer, count);
  int at = target_row(k);
  if (at >= 0 && at < rows && is_last(k, at)) y_store((outer * rows + at) * inner + within, src_load(i));
}
