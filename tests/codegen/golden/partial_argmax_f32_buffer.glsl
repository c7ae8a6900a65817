#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float

bool precedes(TYPE v, TYPE best) {
  if (isnan(best)) return false;
  if (isnan(v)) return true;
  return SMALLEST ? v < best : v > best;
}

struct IndexedValue {
  TYPE v;
  int index;
};

IndexedValue better(IndexedValue a, IndexedValue b) {
  return precedes(b.v, a.v) || !precedes(a.v, b.v) && (b.index < a.index) != LAST ? b : a;
}
shared IndexedValue best_of_partial[LANES];

IndexedValue best_of(IndexedValue v) {
  if (COOPERATIVE) {
  int local_index = int(gl_LocalInvocationID.x);
  barrier();
  best_of_partial[local_index] = v;
  barrier();
  for (int distance = LANES / 2; distance > 0; distance /= 2) {
    if (local_index < distance) {
      IndexedValue a = best_of_partial[local_index];
      IndexedValue b = best_of_partial[local_index + distance];
      best_of_partial[local_index] = better(a, b);
    }
    barrier();
  }
  v = best_of_partial[0];

  }
  return v;
}

int value(int i) {
  int within = unravel(i, inner);
  int part = unravel(i, splits);
  int begin = min(part * part_length, count - 1);
  int end = min(begin + part_length, count);
  int first = i * count * inner + within;
  int index = min(begin + lane_start(), end - 1);
  IndexedValue best = IndexedValue(x_flat(first + index * inner, IVEC4(x_sizes)), index);
  for (int k = begin + lane_start() + lane_stride(); k < end; k += lane_stride()) {
    index = k;
    TYPE v = x_flat(first + index * inner, IVEC4(x_sizes));
    if (precedes(v, best.v) || LAST && !precedes(best.v, v)) best = IndexedValue(v, index);
  }
  best = best_of(best);
  return best.index;
}

