#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (4 * i >= count) return;
  vec4 sum = x_load4(i);
  for (int slice = 1; slice < 2; slice++) sum += x_load4(slice * (count / 4) + i);
  int channel = divide(4 * i, plane);
  if (has_bias != 0) sum += bias_load(unravel(channel, channels));
  y_store4(i, finish_vec4(sum, i));
}
