#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int column = unravel(i, columns);
  int row = i * width;
  int b_row = (divide(i, rows) * columns + column) * width;
  float total = 0.0;
  for (int k = 0; k < width; k++) {
    float difference = abs(a_flat(row + k, IVEC4(a_sizes)) - b_flat(b_row + k, IVEC4(b_sizes)));
    total = ORD == 0 ? total + float(difference != 0.0) : ORD == 1 ? total + difference : ORD == 2 ? total + difference * difference :
            ORD == 3 ? maximum(total, difference) : total + precise_pow(difference, exponent);
  }
  return ORD == 2 ? sqrt(total) : ORD == 4 ? precise_pow(total, 1.0 / exponent) : total;
}

