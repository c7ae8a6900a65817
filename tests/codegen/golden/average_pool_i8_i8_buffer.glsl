#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_8bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// Window of an output along dimension d: first coordinate (may be before x), end and step.
void window_of(int at, int d, out int first, out int last, out int step) {
  first = at * stride[d] - padding[d];
  last = min(first + window[d], size[d] + padding[d]);
  step = 1;
}

int value(int i) {
  ivec3 first, last, step;
  for (int d = 2; d >= 0; d--) {
    int a, b, c;
    window_of(unravel(i, out_size[d]), d, a, b, c);
    first[d] = a;
    last[d] = b;
    step[d] = c;
  }
  int plane = i * size[0] * size[1] * size[2];
  ivec3 extent = last - first;
  first = max(first, ivec3(0));
  last = min(last, ivec3(size[0], size[1], size[2]));
  if (count_padding == 0) extent = last - first;
  int sum = int(0);
  for (int d = first.x; d < last.x; d += step.x) {
    for (int h = first.y; h < last.y; h += step.y) {
      int row = int(0);
      for (int w = first.z; w < last.z; w += step.z) {
        int at = (d * size[1] + h) * size[2] + w;
        int v = x_flat(plane + at, IVEC4(x_sizes)) - x_zero;
        row += v;
      }
      sum += row;
    }
  }
  float total = float(sum) * ratio;
  float count = float(divisor != 0 ? divisor : extent.x * extent.y * extent.z);
  // Vulkan's division has an error of some ulp; the remainder corrects it, so that ties round
  // correctly.
  precise float mean = total / count;
  mean += fma(-mean, count, total) / count;
  return int(clamp(roundEven(clamp(mean, low, high)) + float(y_zero), -128.0, 127.0));
}

