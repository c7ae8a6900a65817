#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define VALUE float

int index_of(int row, int k) {
  int within = take(row, inner);
  return (row * count + k) * inner + within;
}

VALUE load(int row, int k) { return x_at(index_of(row, k)); }
void store(int row, int k, VALUE v) { y_put(index_of(row, k), v); }
float across_max(float v) { return v; }
float across_sum(float v) { return v; }
int steps() { return count; }

void main() {
  int row = flat_index();
  if (row >= rows) return;
  VALUE top = VALUE(-INF);
  for (int k = 0; k < steps(); k++) top = max(top, load(row, k));
  top = across_max(top);
  VALUE sum = VALUE(0.0);
  for (int begin = 0; begin < steps(); begin += 64) {
    VALUE part = VALUE(0.0);
    for (int k = begin; k < min(begin + 64, steps()); k++) part += exp(load(row, k) - top);
    sum += part;
  }
  sum = across_sum(sum);
  for (int k = 0; k < steps(); k++) {
    VALUE v = load(row, k);
    store(row, k, v - top - log(sum));
  }
}
