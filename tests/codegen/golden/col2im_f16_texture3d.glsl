#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// Which of the windows along dim d has its tap at a place; -1 if none has.
int window_at(int place, int tap, int d) {
  int from = place + padding[d] - tap * dilation[d];
  if (from < 0) return -1;
  int number = divide(from, stride[d]);
  return number * stride[d] == from && number < places[d] ? number : -1;
}

float value(int i) {
  ivec2 at;
  at.y = take(i, size[1]);
  at.x = take(i, size[0]);
  float sum = 0.0;
  for (int h = 0; h < window[0]; h++) {
    int row = window_at(at.x, h, 0);
    for (int w = 0; w < window[1]; w++) {
      int column = window_at(at.y, w, 1);
      if (row < 0 || column < 0) continue;
      int tap = (i * window[0] + h) * window[1] + w;
      sum += x_flat((tap * places[0] + row) * places[1] + column, IVEC4(x_sizes));
    }
  }
  return sum;
}

