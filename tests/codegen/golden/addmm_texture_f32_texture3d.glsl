#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int row = i;
  int column = unravel(row, columns);
  float sum = float(0);
  int batch = row;
  int batch_row = unravel(batch, row_count);
  ivec2 matrix = MATRICES_OF(batch);
  ivec4 left = dense_coord((matrix.x * row_count + batch_row) * depth, IVEC4(a_sizes));
  ivec4 right = dense_coord(matrix.y * depth * columns + column, IVEC4(b_sizes));
  for (int k = 0; k < depth; k++) {
    left.w = k;
    right.z = k;
    sum += a_nchw(left, IVEC4(a_sizes)) * b_nchw(right, IVEC4(b_sizes));
  }
  return FINISHED(sum, batch, batch_row, column, i);
}

