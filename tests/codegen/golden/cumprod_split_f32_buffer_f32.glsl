#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float
#define LANES (128 / COLUMNS)

TYPE combine(TYPE a, TYPE b) { return a * b; }
shared TYPE scan_lanes_values[128];

TYPE scan_lanes(TYPE v, out TYPE all) {
  int lane = int(gl_LocalInvocationID.x);
  barrier();
  scan_lanes_values[lane] = v;
  barrier();
  for (int distance = COLUMNS; distance < 128; distance *= 2) {
    TYPE a = scan_lanes_values[max(lane - distance, 0)];
    TYPE b = scan_lanes_values[lane];
    barrier();
    if (lane >= distance) scan_lanes_values[lane] = combine(a, b);
    barrier();
  }
  all = scan_lanes_values[128 - COLUMNS + lane % COLUMNS];
  TYPE before = scan_lanes_values[max(lane - COLUMNS, 0)];
  return lane < COLUMNS ? TYPE(1) : before;
}


void main() {
  int group = workgroup_index();
  int part = unravel(group, splits);
  int column = int(gl_LocalInvocationID.x) % COLUMNS;
  int lane = int(gl_LocalInvocationID.x) / COLUMNS;
  int unclamped_row = group * COLUMNS + column;
  int outer = min(unclamped_row, rows - 1);
  int within = unravel(outer, inner);
  TYPE own = TYPE(1);
  for (int s = lane; s < part; s += LANES) own = combine(own, partials_load((outer * splits + s) * inner + within));
  TYPE total;
  scan_lanes(own, total);
  int base = outer * count * inner + within;
  int end = min((part + 1) * part_length, count);
  for (int begin = part * part_length; begin < end; begin += 4 * LANES) {
    int first = begin + 4 * lane;
    TYPE v[4];
    TYPE sum = TYPE(1);
    [[unroll]] for (int j = 0; j < 4; j++) {
      v[j] = first + j < end ? x_load(base + min(first + j, count - 1) * inner) : TYPE(1);
      sum = combine(sum, v[j]);
    }
    TYPE all;
    TYPE value = combine(total, scan_lanes(sum, all));
    [[unroll]] for (int j = 0; j < 4; j++) {
      value = combine(value, v[j]);
      if (first + j < end && unclamped_row < rows) y_store(base + (first + j) * inner, value);
    }
    total = combine(total, all);
  }
}
