#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float
#define LANES (128 / COLUMNS)
#define NONE Extreme(TYPE(0), -1)

struct Extreme {
  TYPE v;
  int index;  // -1: of no element
};

bool replaces(TYPE v, TYPE best) {
  if (isnan(v) || isnan(best)) return isnan(v);
  return v >= best;
}

Extreme combine(Extreme a, Extreme b) {
  if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
  bool in_order = a.index < b.index;
  return replaces(in_order ? b.v : a.v, in_order ? a.v : b.v) == in_order ? b : a;
}
shared Extreme scan_lanes_values[128];

Extreme scan_lanes(Extreme v, out Extreme all) {
  int lane = int(gl_LocalInvocationID.x);
  barrier();
  scan_lanes_values[lane] = v;
  barrier();
  for (int distance = COLUMNS; distance < 128; distance *= 2) {
    Extreme a = scan_lanes_values[max(lane - distance, 0)];
    Extreme b = scan_lanes_values[lane];
    barrier();
    if (lane >= distance) scan_lanes_values[lane] = combine(a, b);
    barrier();
  }
  all = scan_lanes_values[128 - COLUMNS + lane % COLUMNS];
  Extreme before = scan_lanes_values[max(lane - COLUMNS, 0)];
  return lane < COLUMNS ? NONE : before;
}


void main() {
  int group = workgroup_index();
  int part = unravel(group, splits);
  int column = int(gl_LocalInvocationID.x) % COLUMNS;
  int lane = int(gl_LocalInvocationID.x) / COLUMNS;
  int unclamped_row = group * COLUMNS + column;
  int outer = min(unclamped_row, rows - 1);
  int within = unravel(outer, inner);
  int base = outer * count * inner + within;
  Extreme own = NONE;
  for (int s = lane; s < part; s += LANES) {
    int index = candidates_load((outer * splits + s) * inner + within);
    own = combine(own, Extreme(x_load(base + index * inner), index));
  }
  Extreme best;
  scan_lanes(own, best);
  int end = min((part + 1) * part_length, count);
  for (int begin = part * part_length; begin < end; begin += 4 * LANES) {
    int first = begin + 4 * lane;
    Extreme v[4];
    own = NONE;
    [[unroll]] for (int j = 0; j < 4; j++) {
      v[j] = Extreme(x_load(base + min(first + j, count - 1) * inner), first + j < end ? first + j : -1);
      own = combine(own, v[j]);
    }
    Extreme all;
    Extreme value = combine(best, scan_lanes(own, all));
    [[unroll]] for (int j = 0; j < 4; j++) {
      value = combine(value, v[j]);
      if (first + j < end && unclamped_row < rows) {
        values_store(base + (first + j) * inner, value.v);
        indices_store(base + (first + j) * inner, value.index);
      }
    }
    best = combine(best, all);
  }
}
