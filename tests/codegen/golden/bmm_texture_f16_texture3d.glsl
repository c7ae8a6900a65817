#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int row = i;
  int column = take(row, columns);
  float sum = 0.0;
  for (int k = 0; k < depth; k++) {
    sum += a_flat(row * depth + k, IVEC4(a_sizes)) * b_flat((divide(row, row_count) * depth + k) * columns + column, IVEC4(b_sizes));
  }
  return sum;
}

