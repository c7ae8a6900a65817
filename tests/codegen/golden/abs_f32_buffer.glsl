#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float

float apply(TYPE x) {
  return abs(x);
}

void main() {
  int i = flat_index();
  if (i >= n) return;
  y_put(i, apply(x_at(i)));
}
