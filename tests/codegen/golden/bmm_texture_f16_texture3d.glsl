#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int row = i;
  int column = take(row, columns);
  float sum = 0.0;
  ivec4 left = dense_position(row * depth, IVEC4(a_sizes));
  ivec4 right = dense_position(divide(row, row_count) * depth * columns + column, IVEC4(b_sizes));
  for (int k = 0; k < depth; k++) {
    left.w = k;
    right.z = k;
    sum += a_nchw(left, IVEC4(a_sizes)) * b_nchw(right, IVEC4(b_sizes));
  }
  return sum;
}

