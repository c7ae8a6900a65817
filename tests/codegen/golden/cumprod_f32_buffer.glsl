#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float

void main() {
  int row = flat_index();
  if (row >= rows) return;
  int within = unravel(row, inner);
  int first = row * count * inner + within;
  float total = TYPE(1);
  for (int k = 0; k < count; k++) {
    TYPE v = x_load(first + k * inner);
    total = total * v;
    y_store(first + k * inner, total);
  }
}
