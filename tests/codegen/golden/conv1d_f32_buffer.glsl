#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define X_SIZES ivec4(1, x_shape[0], x_shape[1], x_shape[4])

// Where the element of x that `tap` takes to the place `at` of y lies along dim d; outside x if none does.
int source(int at, int tap, int d) {
  return at * stride[d] - padding[d] + tap * dilation[d];
}

float value(int i) {
  ivec3 at;
  for (int d = 2; d >= 0; d--) at[d] = take(i, y_shape[2 + d]);
  int channel = take(i, y_shape[1]);
  int group = divide(channel, group_out);
  ivec3 size = ivec3(x_shape[2], x_shape[3], x_shape[4]);
  int plane = size.x * size.y * size.z;
  int taps = window[0] * window[1] * window[2];
  int first = (i * x_shape[1] + group * group_in) * plane;
  int w = channel * group_in * taps;
  int next_w = taps;
  ivec3 first_tap = ivec3(0);
  ivec3 tap_step = ivec3(1);
  float sum = has_bias != 0 ? bias_at(channel) : 0.0;
  for (int d = first_tap.x; d < window[0]; d += tap_step.x) {
    for (int h = first_tap.y; h < window[1]; h += tap_step.y) {
      for (int v = first_tap.z; v < window[2]; v += tap_step.z) {
        ivec3 from = ivec3(source(at.x, d, 0), source(at.y, h, 1), source(at.z, v, 2));
        if (any(lessThan(from, ivec3(0))) || any(greaterThanEqual(from, size))) continue;
        int place = first + (from.x * size.y + from.y) * size.z + from.z;
        int tap = w + (d * window[1] + h) * window[2] + v;
        float part = 0.0;
        for (int c = 0; c < group_in; c++) part += x_flat(place + c * plane, X_SIZES) * weight_at(tap + c * next_w);
        sum += part;
      }
    }
  }
  return sum;
}

