#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int rest = divide(divide(i, KV_ROW_VEC8S), inner);
  int row = unravel(rest, capacity);
  vec4 low = vec4(0.0);
  vec4 high = vec4(0.0);
  if (row < positions_load(0) + queries) keys_load8(i, low, high);
  y_store8(i, round_to_f16(low), round_to_f16(high));
}
