#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float
#define START (KIND == 1 ? INF : KIND == 2 || KIND == 6 ? -INF : KIND == 3 ? TYPE(1) : TYPE(0))

TYPE combine(TYPE a, TYPE b) {
  if (KIND == 6) return precise_logaddexp(a, b);
  return KIND == 1 ? minimum(a, b) : KIND == 2 ? maximum(a, b) : KIND == 3 ? a * b : a + b;
}

TYPE term(TYPE v) { return KIND == 4 ? abs(v) : KIND == 5 ? v * v : v; }
shared TYPE over_lanes_partial[LANES];

TYPE over_lanes(TYPE v) {
  if (COOPERATIVE) {
  int local_index = int(gl_LocalInvocationID.x);
  barrier();
  over_lanes_partial[local_index] = v;
  barrier();
  for (int distance = LANES / 2; distance > 0; distance /= 2) {
    if (local_index < distance) {
      TYPE a = over_lanes_partial[local_index];
      TYPE b = over_lanes_partial[local_index + distance];
      over_lanes_partial[local_index] = combine(a, b);
    }
    barrier();
  }
  v = over_lanes_partial[0];

  }
  return v;
}


void main() {
  int unclamped = COOPERATIVE ? workgroup_index() : flat_index();
  int index = min(unclamped, n - 1);
  int row = index;
  int within = unravel(row, inner);
  int part = unravel(row, splits);
  int end = min((part + 1) * part_length, count);
  int first = row * count * inner + within;
  int stride = lane_stride();
  TYPE totals[4] = TYPE[4](START, START, START, START);
  int k = part * part_length + lane_start();
  // Four independent loads in flight.
  for (; k + 3 * stride < end; k += 4 * stride) {
    [[unroll]] for (int j = 0; j < 4; j++) totals[j] = combine(totals[j], term(x_load(first + (k + j * stride) * inner)));
  }
  for (; k < end; k += stride) totals[0] = combine(totals[0], term(x_load(first + k * inner)));
  TYPE total = over_lanes(combine(combine(totals[0], totals[1]), combine(totals[2], totals[3])));
  if (unclamped < n && lane_start() == 0) y_store(index, total);
}
