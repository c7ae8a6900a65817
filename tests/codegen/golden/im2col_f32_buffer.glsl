#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  ivec2 at;
  at.y = unravel(i, window_counts[1]);
  at.x = unravel(i, window_counts[0]);
  ivec2 tap;
  tap.y = unravel(i, window[1]);
  tap.x = unravel(i, window[0]);
  at = at * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]) + tap * ivec2(dilation[0], dilation[1]);
  if (at.x < 0 || at.y < 0 || at.x >= size[0] || at.y >= size[1]) return 0.0;
  return x_flat((i * size[0] + at.x) * size[1] + at.y, IVEC4(x_sizes));
}

