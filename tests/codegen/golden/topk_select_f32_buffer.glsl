#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

shared TYPE best[LANES];
shared int best_index[LANES];

void main() {
  int unclamped_row = workgroup_index();
  int row = min(unclamped_row, rows - 1);
  TYPE last = TYPE(0);
  int last_index = -1;
  for (int k = 0; k < output_count; k++) {
    TYPE candidate = TYPE(0);
    int own_index = count;
    for (int j = lane(); j < count; j += LANES) {
      TYPE v = x_load(element_index(row, j, count));
      bool after = last_index < 0 || before(last, last_index, v, j);
      bool better = after && before(v, j, candidate, own_index);
      candidate = better ? v : candidate;
      own_index = better ? j : own_index;
    }
    best[lane()] = candidate;
    best_index[lane()] = own_index;
    barrier();
    for (int distance = LANES / 2; distance > 0; distance /= 2) {
      if (lane() < distance && before(best[lane() + distance], best_index[lane() + distance], best[lane()], best_index[lane()])) {
        best[lane()] = best[lane() + distance];
        best_index[lane()] = best_index[lane() + distance];
      }
      barrier();
    }
    last = best[0];
    last_index = best_index[0];
    barrier();
    if (lane() == 0 && unclamped_row == row) {
      int at = element_index(row, k, output_count);
      values_store(at, last);
      indices_store(at, last_index);
    }
  }
}
