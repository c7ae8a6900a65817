#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

shared TYPE best[LANES];
shared int best_place[LANES];

void main() {
  int number = workgroup_number();
  int row = min(number, rows - 1);
  TYPE last = TYPE(0);
  int last_place = -1;
  for (int k = 0; k < kept; k++) {
    TYPE mine = TYPE(0);
    int mine_place = count;
    for (int j = lane(); j < count; j += LANES) {
      TYPE v = x_at(index_of(row, j, count));
      bool after = last_place < 0 || before(last, last_place, v, j);
      bool better = after && before(v, j, mine, mine_place);
      mine = better ? v : mine;
      mine_place = better ? j : mine_place;
    }
    best[lane()] = mine;
    best_place[lane()] = mine_place;
    barrier();
    for (int apart = LANES / 2; apart > 0; apart /= 2) {
      if (lane() < apart && before(best[lane() + apart], best_place[lane() + apart], best[lane()], best_place[lane()])) {
        best[lane()] = best[lane() + apart];
        best_place[lane()] = best_place[lane() + apart];
      }
      barrier();
    }
    last = best[0];
    last_place = best_place[0];
    barrier();
    if (lane() == 0 && number == row) {
      int at = index_of(row, k, kept);
      values_put(at, last);
      indices_put(at, last_place);
    }
  }
}
