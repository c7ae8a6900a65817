#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

int source;  // element of x in column 0 of a row of split[7] elements

void begin_row(int row) {
  source = offset;
  for (int d = 6; d >= first; d--) source += unravel(row, split[d]) * source_strides[d];
}

float element(int column) { return x_flat(source + column * source_strides[7], IVEC4(x_sizes)); }

vec4 value4(int i) {
  if (!VEC4_COPY) return rows4(i);
  int index = offset;
  int rest = 4 * i;
  for (int d = 7; d >= first; d--) index += unravel(rest, split[d]) * source_strides[d];
  return x_load4(index / 4);
}
