#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int column = i % columns;
  int row = i / columns;
  float sum = 0.0;
  for (int k = 0; k < depth; k++) {
    sum += a_flat(row * depth + k, IVEC4(a_sizes)) * b_flat((row / row_count * depth + k) * columns + column, IVEC4(b_sizes));
  }
  return sum;
}

