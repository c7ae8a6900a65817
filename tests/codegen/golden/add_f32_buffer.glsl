#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float
#define FINISH(y) activate(y)

float combine(TYPE a, float b) {
  return a + b * TYPE(alpha);
}

void main() {
  int i = flat_index();
  if (i >= n) return;
  int a_index = i;
  int b_index = i;
  if (!SAME) {
    a_index = 0;
    b_index = 0;
    int rest = i;
    for (int d = 7; d >= first; d--) {
      int coordinate = take(rest, y_shape[d]);
      a_index += coordinate * a_strides[d];
      b_index += coordinate * b_strides[d];
    }
  }
  y_put(i, FINISH(combine(a_at(a_index), b_at(b_index))));
}
