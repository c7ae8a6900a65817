#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define X_SIZES ivec4(1, x_shape[0], x_shape[1], x_shape[4])

// Coordinate in x, along dimension d, of the input for output coordinate `at` and a tap; outside of
// x if there is none.
int source(int at, int tap, int d) {
  int scaled = at + padding[d] - tap * dilation[d];
  if (scaled < 0) return -1;
  int x_index = divide(scaled, stride[d]);
  return x_index * stride[d] == scaled ? x_index : -1;
}

float value(int i) {
  ivec3 at;
  for (int d = 2; d >= 0; d--) at[d] = unravel(i, y_shape[2 + d]);
  int channel = unravel(i, y_shape[1]);
  int group = divide(channel, group_out);
  ivec3 size = ivec3(x_shape[2], x_shape[3], x_shape[4]);
  int plane = size.x * size.y * size.z;
  int taps = window[0] * window[1] * window[2];
  int first = (i * x_shape[1] + group * group_in) * plane;
  int w = (group * group_in * group_out + channel - group * group_out) * taps;
  int next_w = group_out * taps;
  ivec3 first_tap = ivec3(0);
  ivec3 tap_stride = ivec3(1);
  // Without dilation, every stride-th tap has an element of x.
  for (int d = 0; d < 3; d++) {
    if (dilation[d] > 1) continue;
    int x_index = at[d] + padding[d];
    first_tap[d] = unravel(x_index, stride[d]);
    tap_stride[d] = stride[d];
  }
  float sum = has_bias != 0 ? bias_load(channel) : 0.0;
  for (int d = first_tap.x; d < window[0]; d += tap_stride.x) {
    for (int h = first_tap.y; h < window[1]; h += tap_stride.y) {
      for (int v = first_tap.z; v < window[2]; v += tap_stride.z) {
        ivec3 x_coord = ivec3(source(at.x, d, 0), source(at.y, h, 1), source(at.z, v, 2));
        if (any(lessThan(x_coord, ivec3(0))) || any(greaterThanEqual(x_coord, size))) continue;
        int x_index = first + (x_coord.x * size.y + x_coord.y) * size.z + x_coord.z;
        int tap = w + (d * window[1] + h) * window[2] + v;
        float partial = 0.0;
        for (int c = 0; c < group_in; c++) partial += x_flat(x_index + c * plane, X_SIZES) * weight_load(tap + c * next_w);
        sum += partial;
      }
    }
  }
  return sum;
}

