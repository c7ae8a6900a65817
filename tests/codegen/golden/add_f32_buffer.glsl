#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float
#define FINISH(y) activate(y)

float combine(TYPE a, float b) {
  return a + b * alpha;
}

vec4 apply4(vec4 a, vec4 b) {
  vec4 y;
  for (int lane = 0; lane < 4; lane++) y[lane] = combine(a[lane], b[lane]);  // a loop: smaller module
  return FINISH(y);
}


void main() {
  int i = flat_index();
}
