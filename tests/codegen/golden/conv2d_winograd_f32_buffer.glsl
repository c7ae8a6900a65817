#version 450
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  ivec4 sizes = IVEC4(y_sizes);
  int channel = flat_index();
  int tile = take(channel, tiles);
  channel *= 4;
  if (channel >= sizes.y) return;
  int row = tile;
  int column = take(row, (sizes.w + 1) / 2);
  int image = row;
  row = take(image, (sizes.z + 1) / 2);

  int tile_block = tile;
  int within = take(tile_block, block);
  int first = (tile_block * 16 * block + within) * out_quads + channel / 4;
  int step = block * out_quads;
  vec4 m0 = x_at4(first + 0 * step);
  vec4 m1 = x_at4(first + 1 * step);
  vec4 m2 = x_at4(first + 2 * step);
  vec4 m3 = x_at4(first + 3 * step);
  vec4 m4 = x_at4(first + 4 * step);
  vec4 m5 = x_at4(first + 5 * step);
  vec4 m6 = x_at4(first + 6 * step);
  vec4 m7 = x_at4(first + 7 * step);
  vec4 m8 = x_at4(first + 8 * step);
  vec4 m9 = x_at4(first + 9 * step);
  vec4 m10 = x_at4(first + 10 * step);
  vec4 m11 = x_at4(first + 11 * step);
  vec4 m12 = x_at4(first + 12 * step);
  vec4 m13 = x_at4(first + 13 * step);
  vec4 m14 = x_at4(first + 14 * step);
  vec4 m15 = x_at4(first + 15 * step);
  vec4 high0 = m0 + m4 + m8;
  vec4 low0 = m4 - m8 - m12;
  vec4 high1 = m1 + m5 + m9;
  vec4 low1 = m5 - m9 - m13;
  vec4 high2 = m2 + m6 + m10;
  vec4 low2 = m6 - m10 - m14;
  vec4 high3 = m3 + m7 + m11;
  vec4 low3 = m7 - m11 - m15;
  int channels = min(4, sizes.y - channel);
  vec4 bias = vec4(0.0);
  if (has_bias != 0) {
    for (int o = 0; o < channels; o++) bias[o] = bias_at(channel + o);
  }
  vec4 value0 = activate(high0 + high1 + high2 + bias);
  vec4 value1 = activate(high1 - high2 - high3 + bias);
  vec4 value2 = activate(low0 + low1 + low2 + bias);
  vec4 value3 = activate(low1 - low2 - low3 + bias);
  bool right = 2 * column + 1 < sizes.w;
  bool below = 2 * row + 1 < sizes.z;
  int plane = sizes.z * sizes.w;
  int at = (image * sizes.y + channel) * plane + 2 * row * sizes.w + 2 * column;
  for (int o = 0; o < channels; o++) {
    y_put(at, value0[o]);
    if (right) y_put(at + 1, value1[o]);
    if (below) y_put(at + sizes.w, value2[o]);
    if (right && below) y_put(at + sizes.w + 1, value3[o]);
    at += plane;
  }
}
