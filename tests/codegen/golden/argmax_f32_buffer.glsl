#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float

bool precedes(TYPE v, TYPE best) {
  if (isnan(best)) return false;
  if (isnan(v)) return true;
  return v > best;
}

int value(int i) {
  int within = take(i, inner);
  int first = i * count * inner + within;
  int place = 0;
  TYPE best = x_flat(first, IVEC4(x_sizes));
  for (int k = 1; k < count; k++) {
    TYPE v = x_flat(first + k * inner, IVEC4(x_sizes));
    if (precedes(v, best)) {
      place = k;
      best = v;
    }
  }
  return place;
}

