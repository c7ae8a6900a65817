#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int k = i;
  int gate = unravel(k, lanes);
  int unit = unravel(k, units);
  y_store(i, gate < gates ? weight_load((gate * units + unit) * depth + k) : 0.0);
}
