#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int rest = i;
  int within = unravel(rest, inner);
  int outer = rest;
  int at = unravel(outer, size) - first;
  int slice = at < 0 ? -1 : divide(at, step);
  if (at < 0 || slice * step != at || slice >= count) return x_flat(i, IVEC4(y_sizes));
  return src_load((outer * count + slice) * inner + within);
}

