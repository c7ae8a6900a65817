#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (4 * i >= n) return;
  uvec2 key = uvec2(uint(state_load(0)), uint(state_load(1)));
  uvec4 counter = uvec4(uint(i), 0u, uint(state_load(2)), uint(state_load(3)));
  y_store4(i, vec4(philox(counter, key) >> 8) * 5.9604644775390625e-8);
}
