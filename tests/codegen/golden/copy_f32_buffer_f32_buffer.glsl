#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float convert(float v) {
  return float(v);
}

void main() {
  int i = flat_index();
  for (int k = 4 * i; k < min(4 * i + 4, n); k++) y_put(k, convert(x_at(k)));
}
