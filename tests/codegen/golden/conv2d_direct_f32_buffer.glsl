#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

vec4 bias_of(int channel) {
  vec4 value = vec4(0.0);
  if (has_bias == 0) return value;
  for (int lane = 0; lane < min(4, y_sizes[1] - channel); lane++) value[lane] = bias_at(channel + lane);
  return value;
}

// `pixel` counts over batch, rows and columns.
void store(int pixel, int channel, vec4 value) {
  ivec4 sizes = IVEC4(y_sizes);
  int plane = sizes.z * sizes.w;
  if (pixel >= sizes.x * plane || channel >= sizes.y) return;
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
  int tiles = (count + 7) / 8;
  int first = flat_index() % tiles * 8;
  int channel = flat_index() / tiles * 8;
  if (channel >= sizes.y) return;

  int in_first = channel / group_out * group_in;
  int in_padded = (group_in + 3) / 4 * 4;
  int taps = window[0] * window[1];
  int next_block = taps * in_padded;
  int w = channel / 4 * next_block;
  int in_plane = x_sizes[2] * x_sizes[3];
  int in_blocks = blocks_of(x_sizes[1]);
  int pixel0 = min(first + 0, count - 1);
  ivec2 corner0 = ivec2(pixel0 % plane / sizes.w, pixel0 % sizes.w) * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  int image0 = pixel0 / plane;
  vec4 low0 = vec4(0.0);
  vec4 high0 = vec4(0.0);
  int pixel1 = min(first + 1, count - 1);
  ivec2 corner1 = ivec2(pixel1 % plane / sizes.w, pixel1 % sizes.w) * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  int image1 = pixel1 / plane;
  vec4 low1 = vec4(0.0);
  vec4 high1 = vec4(0.0);
  int pixel2 = min(first + 2, count - 1);
  ivec2 corner2 = ivec2(pixel2 % plane / sizes.w, pixel2 % sizes.w) * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  int image2 = pixel2 / plane;
  vec4 low2 = vec4(0.0);
  vec4 high2 = vec4(0.0);
  int pixel3 = min(first + 3, count - 1);
  ivec2 corner3 = ivec2(pixel3 % plane / sizes.w, pixel3 % sizes.w) * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  int image3 = pixel3 / plane;
  vec4 low3 = vec4(0.0);
  vec4 high3 = vec4(0.0);
  int pixel4 = min(first + 4, count - 1);
  ivec2 corner4 = ivec2(pixel4 % plane / sizes.w, pixel4 % sizes.w) * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  int image4 = pixel4 / plane;
  vec4 low4 = vec4(0.0);
  vec4 high4 = vec4(0.0);
  int pixel5 = min(first + 5, count - 1);
  ivec2 corner5 = ivec2(pixel5 % plane / sizes.w, pixel5 % sizes.w) * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  int image5 = pixel5 / plane;
  vec4 low5 = vec4(0.0);
  vec4 high5 = vec4(0.0);
  int pixel6 = min(first + 6, count - 1);
  ivec2 corner6 = ivec2(pixel6 % plane / sizes.w, pixel6 % sizes.w) * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  int image6 = pixel6 / plane;
  vec4 low6 = vec4(0.0);
  vec4 high6 = vec4(0.0);
  int pixel7 = min(first + 7, count - 1);
  ivec2 corner7 = ivec2(pixel7 % plane / sizes.w, pixel7 % sizes.w) * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]);
  int image7 = pixel7 / plane;
  vec4 low7 = vec4(0.0);
  vec4 high7 = vec4(0.0);
  for (int tap = 0; tap < taps; tap++) {
    ivec2 offset = ivec2(tap / window[1], tap % window[1]) * ivec2(dilation[0], dilation[1]);
    ivec2 at0 = corner0 + offset;
    bool inside0 = at0.x >= 0 && at0.y >= 0 && at0.x < x_sizes[2] && at0.y < x_sizes[3];
    int x0 = inside0 ? (image0 * x_sizes[1] + in_first) * in_plane + at0.x * x_sizes[3] + at0.y : 0;
    ivec2 at1 = corner1 + offset;
    bool inside1 = at1.x >= 0 && at1.y >= 0 && at1.x < x_sizes[2] && at1.y < x_sizes[3];
    int x1 = inside1 ? (image1 * x_sizes[1] + in_first) * in_plane + at1.x * x_sizes[3] + at1.y : 0;
    ivec2 at2 = corner2 + offset;
    bool inside2 = at2.x >= 0 && at2.y >= 0 && at2.x < x_sizes[2] && at2.y < x_sizes[3];
    int x2 = inside2 ? (image2 * x_sizes[1] + in_first) * in_plane + at2.x * x_sizes[3] + at2.y : 0;
    ivec2 at3 = corner3 + offset;
    bool inside3 = at3.x >= 0 && at3.y >= 0 && at3.x < x_sizes[2] && at3.y < x_sizes[3];
    int x3 = inside3 ? (image3 * x_sizes[1] + in_first) * in_plane + at3.x * x_sizes[3] + at3.y : 0;
    ivec2 at4 = corner4 + offset;
    bool inside4 = at4.x >= 0 && at4.y >= 0 && at4.x < x_sizes[2] && at4.y < x_sizes[3];
    int x4 = inside4 ? (image4 * x_sizes[1] + in_first) * in_plane + at4.x * x_sizes[3] + at4.y : 0;
    ivec2 at5 = corner5 + offset;
    bool inside5 = at5.x >= 0 && at5.y >= 0 && at5.x < x_sizes[2] && at5.y < x_sizes[3];
    int x5 = inside5 ? (image5 * x_sizes[1] + in_first) * in_plane + at5.x * x_sizes[3] + at5.y : 0;
    ivec2 at6 = corner6 + offset;
    bool inside6 = at6.x >= 0 && at6.y >= 0 && at6.x < x_sizes[2] && at6.y < x_sizes[3];
    int x6 = inside6 ? (image6 * x_sizes[1] + in_first) * in_plane + at6.x * x_sizes[3] + at6.y : 0;
    ivec2 at7 = corner7 + offset;
    bool inside7 = at7.x >= 0 && at7.y >= 0 && at7.x < x_sizes[2] && at7.y < x_sizes[3];
    int x7 = inside7 ? (image7 * x_sizes[1] + in_first) * in_plane + at7.x * x_sizes[3] + at7.y : 0;
    for (int c = 0; c < group_in; c++) {
      vec4 w_low = weight_at4(w + c);
      vec4 w_high = weight_at4(w + c + next_block);
      int step = c * in_plane;
      float v0 = x_at(x0 + step);
      v0 = inside0 ? v0 : 0.0;
      low0 += w_low * v0;
      high0 += w_high * v0;
      float v1 = x_at(x1 + step);
      v1 = inside1 ? v1 : 0.0;
      low1 += w_low * v1;
      high1 += w_high * v1;
      float v2 = x_at(x2 + step);
      v2 = inside2 ? v2 : 0.0;
      low2 += w_low * v2;
      high2 += w_high * v2;
      float v3 = x_at(x3 + step);
      v3 = inside3 ? v3 : 0.0;
      low3 += w_low * v3;
      high3 += w_high * v3;
      float v4 = x_at(x4 + step);
      v4 = inside4 ? v4 : 0.0;
      low4 += w_low * v4;
      high4 += w_high * v4;
      float v5 = x_at(x5 + step);
      v5 = inside5 ? v5 : 0.0;
      low5 += w_low * v5;
      high5 += w_high * v5;
      float v6 = x_at(x6 + step);
      v6 = inside6 ? v6 : 0.0;
      low6 += w_low * v6;
      high6 += w_high * v6;
      float v7 = x_at(x7 + step);
      v7 = inside7 ? v7 : 0.0;
      low7 += w_low * v7;
      high7 += w_high * v7;
    }
    w += in_padded;
  }
  store(first + 0, channel, low0);
  store(first + 0, channel + 4, high0);
  store(first + 1, channel, low1);
  store(first + 1, channel + 4, high1);
  store(first + 2, channel, low2);
  store(first + 2, channel + 4, high2);
  store(first + 3, channel, low3);
  store(first + 3, channel + 4, high3);
  store(first + 4, channel, low4);
  store(first + 4, channel + 4, high4);
  store(first + 5, channel, low5);
  store(first + 5, channel + 4, high5);
  store(first + 6, channel, low6);
  store(first + 6, channel + 4, high6);
  store(first + 7, channel, low7);
  store(first + 7, channel + 4, high7);
}
