#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// `quad`: index of 4 consecutive pixels over the batch.
void store(int quad, int channel, vec4 value) {
  int plane = y_sizes[2] * y_sizes[3] / 4;
  if (quad >= y_sizes[0] * plane || channel >= y_sizes[1]) return;
  float bias = has_bias != 0 ? bias_load(channel) : 0.0;
  int image = quad;
  int within = unravel(image, plane);
  int at = (image * y_sizes[1] + channel) * plane + within;
  y_store4(at, finish_vec4(value + bias, at));
}

void main() {
  int plane = y_sizes[2] * y_sizes[3] / 4;
  int count = y_sizes[0] * plane;
  int tiles = (count + 1) / 2;
  int block = flat_index();
  int first = unravel(block, tiles) * 2;
  int channel = block * 8;
  if (channel >= y_sizes[1]) return;
  int second = min(first + 1, count - 1);
  int x0 = first + divide(first, plane) * (group_in - 1) * plane;
  int x1 = second + divide(second, plane) * (group_in - 1) * plane;
  int next_block = (group_in + 3) / 4 * 4;
  int w = channel / 4 * next_block;
  vec4 low0 = vec4(0.0);
  vec4 high0 = vec4(0.0);
  vec4 low1 = vec4(0.0);
  vec4 high1 = vec4(0.0);
  vec4 low2 = vec4(0.0);
  vec4 high2 = vec4(0.0);
  vec4 low3 = vec4(0.0);
  vec4 high3 = vec4(0.0);
  vec4 low4 = vec4(0.0);
  vec4 high4 = vec4(0.0);
  vec4 low5 = vec4(0.0);
  vec4 high5 = vec4(0.0);
  vec4 low6 = vec4(0.0);
  vec4 high6 = vec4(0.0);
  vec4 low7 = vec4(0.0);
  vec4 high7 = vec4(0.0);
  for (int c = 0; c < group_in; c++) {
    vec4 v0 = x_load4(x0 + c * plane);
    vec4 v1 = x_load4(x1 + c * plane);
    vec4 w0 = weight_load4(w + c);
    vec4 w1 = weight_load4(w + c + next_block);
    low0 += w0[0] * v0;
    high0 += w0[0] * v1;
    low1 += w0[1] * v0;
    high1 += w0[1] * v1;
    low2 += w0[2] * v0;
    high2 += w0[2] * v1;
    low3 += w0[3] * v0;
    high3 += w0[3] * v1;
    low4 += w1[0] * v0;
    high4 += w1[0] * v1;
    low5 += w1[1] * v0;
    high5 += w1[1] * v1;
    low6 += w1[2] * v0;
    high6 += w1[2] * v1;
    low7 += w1[3] * v0;
    high7 += w1[3] * v1;
  }
  // Loop with one copy of the epilogue: unrolled, it would dominate the module size.
  vec4 low[8];
  vec4 high[8];
  low[0] = low0;
  high[0] = high0;
  low[1] = low1;
  high[1] = high1;
  low[2] = low2;
  high[2] = high2;
  low[3] = low3;
  high[3] = high3;
  low[4] = low4;
  high[4] = high4;
  low[5] = low5;
  high[5] = high5;
  low[6] = low6;
  high[6] = high6;
  low[7] = low7;
  high[7] = high7;
  for (int o = 0; o < 8; o++) {
    store(first, channel + o, low[o]);
    store(first + 1, channel + o, high[o]);
  }
}
