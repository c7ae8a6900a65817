#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

bool value(int i) {
  int index = offset;
  for (int d = 7; d >= first; d--) {
    index += take(i, split[d]) * steps[d];
  }
  return x_flat(index, IVEC4(x_sizes));
}

