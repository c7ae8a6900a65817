#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int c = divide(i, inner);
  c = unravel(c, channels_in_x);
  float v = (x_flat(i, IVEC4(y_sizes)) - running_mean_load(c)) * inversesqrt(running_var_load(c) + eps);
  return v * (has_weight != 0 ? weight_load(c) : 1.0) + (has_bias != 0 ? bias_load(c) : 0.0);
}

