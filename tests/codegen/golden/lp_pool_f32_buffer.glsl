#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// Window of an output along dimension d: first coordinate (may be before x), end and step.
void window_of(int at, int d, out int first, out int last, out int step) {
  first = at * stride[d] - padding[d];
  last = min(first + (window[d] - 1) * dilation[d] + 1, size[d]);
  step = dilation[d];
  if (first < 0) first += divide(step - 1 - first, step) * step;
}

float value(int i) {
  ivec3 first, last, step;
  for (int d = 2; d >= 0; d--) {
    int a, b, c;
    window_of(unravel(i, out_size[d]), d, a, b, c);
    first[d] = a;
    last[d] = b;
    step[d] = c;
  }
  int plane = i * size[0] * size[1] * size[2];
  float sum = float(0);
  for (int d = first.x; d < last.x; d += step.x) {
    for (int h = first.y; h < last.y; h += step.y) {
      float row = float(0);
      for (int w = first.z; w < last.z; w += step.z) {
        int at = (d * size[1] + h) * size[2] + w;
        float v = x_flat(plane + at, IVEC4(x_sizes));
        row += precise_pow(abs(v), norm);
      }
      sum += row;
    }
  }
  return precise_pow(sum, 1.0 / norm);
}

