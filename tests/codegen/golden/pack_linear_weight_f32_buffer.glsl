#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int column = i;
  int row = take(column, padded_rows);
  y_put(i, row < rows ? weight_at(row * columns + column) : 0.0);
}
