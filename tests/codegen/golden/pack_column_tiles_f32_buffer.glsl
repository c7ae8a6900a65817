#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int rest = i;
  int lane = unravel(rest, lanes);
  int k = unravel(rest, steps);
  lane += rest * lanes;
  bool used = lane < limit;
  vec4 value = x_load4(used ? lane * lane_stride + k * step_stride : 0);
  y_store4(i, used ? value : vec4(0.0));
}
