#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int outer = i;
  int within = unravel(outer, run);
  y_store(outer * y_run + begin + within, tensors_load(i));
}
