#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// Index into x for element i of y.
int source(int i) {
  int index = offset;
  for (int d = 7; d >= first; d--) index += unravel(i, split[d]) * source_strides[d];
  return index;
}

vec4 value4(int i) {
  vec4 result;
  for (int lane = 0; lane < 4; lane += VEC4_COPY ? 4 : 1) {
    int index = source(min(4 * i + lane, n - 1));
    vec4 loaded = x_load4(index / 4);
    if (VEC4_COPY) {
      result = loaded;
    } else {
      result[lane] = loaded[index % 4];
    }
  }
  return result;
}

