#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  PointRange at = points_of(i);
  int k = last_load(at.within ? at.row * targets + at.target : 0);
  bool written = at.within && k >= 0;
  float v = src_load(written ? at.src + k * at.src_stride : 0);
  y_store(i, written ? v : x_load(i));
}
