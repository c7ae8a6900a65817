#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// Outputs (0, 0), (0, 1), (1, 0), (1, 1) of a tile, of four channels.
void transform(int tile, int channel, out vec4 outputs[4]) {
  int tile_block = tile;
  int within = unravel(tile_block, block);
  int first = (tile_block * 16 * block + within) * out_quads + channel / 4;
  int step = block * out_quads;
  vec4 m0 = x_load4(first + 0 * step);
  vec4 m1 = x_load4(first + 1 * step);
  vec4 m2 = x_load4(first + 2 * step);
  vec4 m3 = x_load4(first + 3 * step);
  vec4 m4 = x_load4(first + 4 * step);
  vec4 m5 = x_load4(first + 5 * step);
  vec4 m6 = x_load4(first + 6 * step);
  vec4 m7 = x_load4(first + 7 * step);
  vec4 m8 = x_load4(first + 8 * step);
  vec4 m9 = x_load4(first + 9 * step);
  vec4 m10 = x_load4(first + 10 * step);
  vec4 m11 = x_load4(first + 11 * step);
  vec4 m12 = x_load4(first + 12 * step);
  vec4 m13 = x_load4(first + 13 * step);
  vec4 m14 = x_load4(first + 14 * step);
  vec4 m15 = x_load4(first + 15 * step);
  vec4 high0 = m0 + m4 + m8;
  vec4 low0 = m4 - m8 - m12;
  vec4 high1 = m1 + m5 + m9;
  vec4 low1 = m5 - m9 - m13;
  vec4 high2 = m2 + m6 + m10;
  vec4 low2 = m6 - m10 - m14;
  vec4 high3 = m3 + m7 + m11;
  vec4 low3 = m7 - m11 - m15;
  outputs[0] = high0 + high1 + high2;
  outputs[1] = high1 - high2 - high3;
  outputs[2] = low0 + low1 + low2;
  outputs[3] = low1 - low2 - low3;
}

void main() {
  ivec4 sizes = IVEC4(y_sizes);
  int channel = flat_index();
  int column = unravel(channel, (sizes.w + 3) / 4) * 4;
  int row = unravel(channel, (sizes.z + 1) / 2) * 2;
  int image = unravel(channel, sizes.x);
  channel *= 4;
  if (channel >= sizes.y) return;

  int tiles_wide = (sizes.w + 1) / 2;
  int tile = (image * ((sizes.z + 1) / 2) + row / 2) * tiles_wide + column / 2;
  vec4 left[4], right[4];
  transform(tile, channel, left);
  transform(min(tile + 1, tile - column / 2 + tiles_wide - 1), channel, right);
  int channels = min(4, sizes.y - channel);
  vec4 bias = vec4(0.0);
  if (has_bias != 0) {
    for (int o = 0; o < channels; o++) bias[o] = bias_load(channel + o);
  }
  // Per channel, the four columns of a row.
  mat4 above = transpose(mat4(left[0] + bias, left[1] + bias, right[0] + bias, right[1] + bias));
  mat4 below = transpose(mat4(left[2] + bias, left[3] + bias, right[2] + bias, right[3] + bias));
  int rows = min(2, sizes.z - row);
  int columns = min(4, sizes.w - column);
  int at = ((image * sizes.y + channel) * sizes.z + row) * sizes.w + column;
  for (int o = 0; o < channels; o++) {
    for (int r = 0; r < rows; r++) {
      int first = at + (o * sizes.z + r) * sizes.w;
      vec4 value = finish4(r == 0 ? above[o] : below[o], first + min(ivec4(0, 1, 2, 3), ivec4(columns - 1)));
      if (ALIGNED_4) {
        y_store4(first / 4, value);
      } else {
        for (int p = 0; p < columns; p++) y_store(first + p, value[p]);
      }
    }
  }
}
