#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

vec4 bias_of(int channel) {
  vec4 value = vec4(0.0);
  if (has_bias == 0) return value;
  for (int lane = 0; lane < min(4, y_sizes[1] - channel); lane++) value[lane] = bias_at(channel + lane);
  return value;
}

// The four channels from `channel` at a place of x; zero outside.
vec4 load(int image, int channel, ivec2 at) {
  bool inside = at.x >= 0 && at.y >= 0 && at.x < x_sizes[2] && at.y < x_sizes[3];
  ivec4 sizes = IVEC4(x_sizes);
  ivec4 nchw = ivec4(image, channel, inside ? at : ivec2(0));
  int plane = sizes.z * sizes.w;
  int first = dense_index(nchw, sizes);
  int last = sizes.y - 1 - channel;
  vec4 value = vec4(x_at(first), x_at(first + min(1, last) * plane), x_at(first + min(2, last) * plane), x_at(first + min(3, last) * plane));
  return inside ? value : vec4(0.0);
}

// `pixel` counts over batch, rows and columns.
void store(int pixel, int channel, vec4 value) {
  ivec4 sizes = IVEC4(y_sizes);
  int plane = sizes.z * sizes.w;
  if (pixel >= sizes.x * plane) return;
  value = activate(value + bias_of(channel));
  int within = pixel % plane;
  ivec4 nchw = ivec4(pixel / plane, channel, within / sizes.w, within % sizes.w);
  int first = dense_index(nchw, sizes);
  for (int lane = 0; lane < min(4, sizes.y - channel); lane++) y_put(first + lane * plane, value[lane]);
}

void main() {
  ivec4 sizes = IVEC4(y_sizes);
  int plane = sizes.z * sizes.w;
  int count = sizes.x * plane;
  int tiles = (count + 3) / 4;
  int first = flat_index() % tiles * 4;
  int channel = flat_index() / tiles * 4;
  if (channel >= sizes.y) return;
  int taps = window[0] * window[1];
  int pixel0 = min(first + 0, count - 1);
  ivec2 corner0 = ivec2(pixel0 % plane / sizes.w, pixel0 % sizes.w) * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 sum0 = vec4(0.0);
  int pixel1 = min(first + 1, count - 1);
  ivec2 corner1 = ivec2(pixel1 % plane / sizes.w, pixel1 % sizes.w) * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 sum1 = vec4(0.0);
  int pixel2 = min(first + 2, count - 1);
  ivec2 corner2 = ivec2(pixel2 % plane / sizes.w, pixel2 % sizes.w) * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 sum2 = vec4(0.0);
  int pixel3 = min(first + 3, count - 1);
  ivec2 corner3 = ivec2(pixel3 % plane / sizes.w, pixel3 % sizes.w) * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  vec4 sum3 = vec4(0.0);
  for (int tap = 0; tap < taps; tap++) {
    ivec2 offset = ivec2(tap / window[1], tap % window[1]) * ivec2(dilation[0], dilation[1]);
    vec4 w = weight_at4(channel / 4 * taps + tap);
    sum0 += w * load(pixel0 / plane, channel, corner0 + offset);
    sum1 += w * load(pixel1 / plane, channel, corner1 + offset);
    sum2 += w * load(pixel2 / plane, channel, corner2 + offset);
    sum3 += w * load(pixel3 / plane, channel, corner3 + offset);
  }
  store(first + 0, channel, sum0);
  store(first + 1, channel, sum1);
  store(first + 2, channel, sum2);
  store(first + 3, channel, sum3);
}
