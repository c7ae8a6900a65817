#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float
#define FINISH(y) activate(y)

float combine(TYPE a, float b) {
  return a + b * TYPE(alpha);
}

int a_index(int i) {
  if (A_FULL) return i;
  if (A_RUNS) {
    take(i, runs[0]);
    return take(i, runs[1]);
  }
  int index = 0;
  for (int d = 7; i > 0; d--) index += take(i, y_shape[d]) * a_strides[d];
  return index;
}
int b_index(int i) {
  if (B_FULL) return i;
  if (B_RUNS) {
    take(i, runs[2]);
    return take(i, runs[3]);
  }
  int index = 0;
  for (int d = 7; i > 0; d--) index += take(i, y_shape[d]) * b_strides[d];
  return index;
}

void main() {
  int fours = flat_index();
  int first = 4 * fours;
  if (first >= n) return;
  vec4 y;
  for (int lane = 0; lane < 4; lane++) {
    int i = min(first + lane, n - 1);
    y[lane] = combine(a_at(a_index(i)), b_at(b_index(i)));
  }
  y_put4(fours, FINISH(y));
}
