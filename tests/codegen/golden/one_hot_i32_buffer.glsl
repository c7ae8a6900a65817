#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

int value(int i) {
  int c = unravel(i, classes);
  return x_load(i) == c ? 1 : 0;
}

