#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int within = unravel(i, run);
  float a = x_flat(2 * i * run + within, IVEC4(x_sizes));
  float b = x_flat((2 * i + 1) * run + within, IVEC4(x_sizes));
  return a * sigmoid(b);
}

