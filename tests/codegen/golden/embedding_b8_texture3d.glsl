#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

bool value(int i) {
  int within = take(i, inner);
  int picked = index_at(take(i, count));
  picked = clamp(picked < 0 ? picked + size : picked, 0, size - 1);
  return x_flat((i * size + picked) * inner + within, IVEC4(x_sizes));
}

