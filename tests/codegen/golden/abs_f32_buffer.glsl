#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float

float apply(TYPE x) {
  return abs(x);
}

vec4 apply4(vec4 x) {
  vec4 y;
  for (int lane = 0; lane < 4; lane++) y[lane] = apply(x[lane]);  // a loop: smaller module
  return y;
}

void main() {
  int i = flat_index();
}
