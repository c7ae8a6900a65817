#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int within = unravel(i, inner);
  int picked = index_load(unravel(i, count));
  picked = clamp(picked < 0 ? picked + size : picked, 0, size - 1);
  return x_flat((i * size + picked) * inner + within, IVEC4(x_sizes));
}

