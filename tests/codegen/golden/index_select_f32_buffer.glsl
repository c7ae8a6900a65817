#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int picked = index_at(i / inner % count);
  picked = clamp(picked < 0 ? picked + size : picked, 0, size - 1);
  return x_flat((i / inner / count * size + picked) * inner + i % inner, IVEC4(x_sizes));
}

