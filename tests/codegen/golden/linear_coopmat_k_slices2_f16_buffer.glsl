#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (4 * i >= count) return;
  vec4 sum = x_load4(i);
  for (int slice = 1; slice < SLICES; slice++) sum += x_load4(slice * (count / 4) + i);
  int row = i;
  int column_vec4 = unravel(row, columns / 4);
  if (has_bias != 0) sum += bias_load4(column_vec4);
  y_store4(i, finish_vec4(sum, i));
}
