#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float

int coord_of(int point, int d) {
  return index_load(point);
}

// Dense index of a point in the indexed dimensions; -1 if out of range.
int target_of(int point) {
  int target = 0;
  for (int d = 0; d < indexed; d++) {
    int at = coord_of(point, d);
    at += at < 0 ? sizes[d] : 0;
    if (at < 0 || at >= sizes[d]) return -1;
    target = target * sizes[d] + at;
  }
  return target;
}

TYPE value(int i) {
  TYPE total = x_flat(i, IVEC4(y_sizes));
  int within = unravel(i, inner);
  int own_target = unravel(i, indexed_count);
  for (int point = 0; point < points; point++) {
    if (target_of(point) != own_target) continue;
    TYPE v = src_load(single != 0 ? 0 : (i * points + point) * inner + within);
    total = total + alpha * v;
  }
  return total;
}

