#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float

int coordinate(int point, int d) {
  return index_at(point);
}

// The dense index of a point among the indexed dims; -1 out of range.
int place_of(int point) {
  int place = 0;
  for (int d = 0; d < indexed; d++) {
    int at = coordinate(point, d);
    at += at < 0 ? sizes[d] : 0;
    if (at < 0 || at >= sizes[d]) return -1;
    place = place * sizes[d] + at;
  }
  return place;
}

TYPE value(int i) {
  TYPE total = x_flat(i, IVEC4(y_sizes));
  int within = take(i, inner);
  int mine = take(i, places);
  for (int point = 0; point < points; point++) {
    if (place_of(point) != mine) continue;
    TYPE v = src_at(single != 0 ? 0 : (i * points + point) * inner + within);
    total = total + alpha * v;
  }
  return total;
}

