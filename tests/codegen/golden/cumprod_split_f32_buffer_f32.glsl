#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float
const int LANES = 128;

TYPE combine(TYPE a, TYPE b) { return a * b; }
shared TYPE scan_lanes_values[128];

TYPE scan_lanes(TYPE v, out TYPE all) {
  int lane = int(gl_LocalInvocationID.x);
  barrier();
  scan_lanes_values[lane] = v;
  barrier();
  for (int distance = 1; distance < 128; distance *= 2) {
    TYPE a = scan_lanes_values[max(lane - distance, 0)];
    TYPE b = scan_lanes_values[lane];
    barrier();
    if (lane >= distance) scan_lanes_values[lane] = combine(a, b);
    barrier();
  }
  all = scan_lanes_values[127];
  TYPE before = scan_lanes_values[max(lane - 1, 0)];
  return lane == 0 ? TYPE(1) : before;
}


void main() {
  int unclamped = workgroup_index();
  int index = min(unclamped, rows * splits - 1);
  int lane = int(gl_LocalInvocationID.x);
  int row = index;
  int part = unravel(row, splits);
  TYPE own = TYPE(1);
  for (int s = lane; s < part; s += LANES) own = combine(own, partials_load(row * splits + s));
  TYPE total;
  scan_lanes(own, total);
  int end = min((part + 1) * part_length, count);
  for (int begin = part * part_length; begin < end; begin += 4 * LANES) {
    int first = begin + 4 * lane;
    TYPE v[4];
    TYPE sum = TYPE(1);
    [[unroll]] for (int j = 0; j < 4; j++) {
      v[j] = first + j < end ? x_load(row * count + min(first + j, count - 1)) : TYPE(1);
      sum = combine(sum, v[j]);
    }
    TYPE all;
    TYPE value = combine(total, scan_lanes(sum, all));
    [[unroll]] for (int j = 0; j < 4; j++) {
      value = combine(value, v[j]);
      if (first + j < end && unclamped == index) y_store(row * count + first + j, value);
    }
    total = combine(total, all);
  }
}
