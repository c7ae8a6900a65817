#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// Index of the window along dimension d whose tap is at `position`; -1 if there is none.
int window_index(int position, int tap, int d) {
  int scaled = position + padding[d] - tap * dilation[d];
  if (scaled < 0) return -1;
  int index = divide(scaled, stride[d]);
  return index * stride[d] == scaled && index < window_counts[d] ? index : -1;
}

float value(int i) {
  ivec2 at;
  at.y = unravel(i, size[1]);
  at.x = unravel(i, size[0]);
  float sum = 0.0;
  for (int h = 0; h < window[0]; h++) {
    int row = window_index(at.x, h, 0);
    for (int w = 0; w < window[1]; w++) {
      int column = window_index(at.y, w, 1);
      if (row < 0 || column < 0) continue;
      int tap = (i * window[0] + h) * window[1] + w;
      sum += x_flat((tap * window_counts[0] + row) * window_counts[1] + column, IVEC4(x_sizes));
    }
  }
  return sum;
}

