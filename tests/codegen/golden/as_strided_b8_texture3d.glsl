#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// The place in x of y's element i.
int source(int i) {
  int index = offset;
  for (int d = 7; d >= first; d--) index += take(i, split[d]) * steps[d];
  return index;
}

bool value(int i) { return x_flat(source(i), IVEC4(x_sizes)); }

