#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int column = take(i, columns);
  int row = i * width;
  int other = (divide(i, rows) * columns + column) * width;
  float total = 0.0;
  for (int k = 0; k < width; k++) {
    float off = abs(a_flat(row + k, IVEC4(a_sizes)) - b_flat(other + k, IVEC4(b_sizes)));
    total = ORD == 0 ? total + float(off != 0.0) : ORD == 1 ? total + off : ORD == 2 ? total + off * off :
            ORD == 3 ? maximum(total, off) : total + power(off, exponent);
  }
  return ORD == 2 ? sqrt(total) : ORD == 4 ? power(total, 1.0 / exponent) : total;
}

