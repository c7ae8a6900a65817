#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float

bool precedes(TYPE v, TYPE best) {
  if (isnan(best)) return false;
  if (isnan(v)) return true;
  return v > best;
}

struct Found {
  TYPE v;
  int place;
};

Found better(Found a, Found b) {
  return precedes(b.v, a.v) || !precedes(a.v, b.v) && b.place < a.place ? b : a;
}
shared Found best_of_partial[LANES];

Found best_of(Found v) {
  if (TOGETHER) {
  int own = int(gl_LocalInvocationID.x);
  barrier();
  best_of_partial[own] = v;
  barrier();
  for (int apart = LANES / 2; apart > 0; apart /= 2) {
    if (own < apart) {
      Found a = best_of_partial[own];
      Found b = best_of_partial[own + apart];
      best_of_partial[own] = better(a, b);
    }
    barrier();
  }
  v = best_of_partial[0];

  }
  return v;
}

int value(int i) {
  int within = take(i, inner);
  int first = i * count * inner + within;
  Found best = Found(x_flat(first + first_step() * inner, IVEC4(x_sizes)), first_step());
  for (int k = first_step() + step_length(); k < count; k += step_length()) {
    TYPE v = x_flat(first + k * inner, IVEC4(x_sizes));
    if (precedes(v, best.v)) best = Found(v, k);
  }
  best = best_of(best);
  return best.place;
}

