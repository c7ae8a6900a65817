#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int target = offset;
  int rest = i;
  for (int d = 7; d >= 0; d--) target += unravel(rest, source_shape[d]) * target_strides[d];
  y_store(target, src_load(i));
}
