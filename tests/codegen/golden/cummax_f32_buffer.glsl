#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float

bool replaces(TYPE v, TYPE best) {
  if (isnan(v) || isnan(best)) return isnan(v);
  return v >= best;
}

void main() {
  int row = flat_index();
  if (row >= rows) return;
  int within = unravel(row, inner);
  int first = row * count * inner + within;
  TYPE best = TYPE(0);
  int best_index = 0;
  for (int k = 0; k < count; k++) {
    TYPE v = x_load(first + k * inner);
    if (k == 0 || replaces(v, best)) {
      best = v;
      best_index = k;
    }
    values_store(first + k * inner, best);
    indices_store(first + k * inner, best_index);
  }
}
