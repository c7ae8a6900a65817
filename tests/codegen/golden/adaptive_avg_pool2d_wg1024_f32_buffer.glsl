#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#define COOPERATIVE true
shared float sum_of_partial[LANES];

float sum_of(float v) {
  if (COOPERATIVE) {
  int local_index = int(gl_LocalInvocationID.x);
  barrier();
  sum_of_partial[local_index] = v;
  barrier();
  for (int distance = LANES / 2; distance > 0; distance /= 2) {
    if (local_index < distance) {
      float a = sum_of_partial[local_index];
      float b = sum_of_partial[local_index + distance];
      sum_of_partial[local_index] = a + b;
    }
    barrier();
  }
  v = sum_of_partial[0];

  }
  return v;
}


// Window of an output along dimension d: first coordinate (may be before x), end and step.
void window_of(int at, int d, out int first, out int last, out int step) {
  first = divide(at * size[d], out_size[d]);
  last = divide((at + 1) * size[d] + out_size[d] - 1, out_size[d]);
  step = 1;
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
  ivec3 extent = last - first;
  float sum = float(0);
  ivec3 counts = max((last - first + step - 1) / step, ivec3(0));
  for (int k = lane_start(); k < counts.x * counts.y * counts.z; k += lane_stride()) {
    int rest = k;
    int w = first.z + unravel(rest, counts.z) * step.z;
    int h = first.y + unravel(rest, counts.y) * step.y;
    int at = ((first.x + rest * step.x) * size[1] + h) * size[2] + w;
    float v = x_flat(plane + at, IVEC4(x_sizes));
    sum += v;
  }
  sum = sum_of(sum);
  return sum / float(extent.x * extent.y * extent.z);
}

