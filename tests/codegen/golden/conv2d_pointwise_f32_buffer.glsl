#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// `quad` counts fours of pixels over the batch.
void store(int quad, int channel, vec4 value) {
  int plane = y_sizes[2] * y_sizes[3] / 4;
  if (quad >= y_sizes[0] * plane || channel >= y_sizes[1]) return;
  float bias = has_bias != 0 ? bias_at(channel) : 0.0;
  int image = quad;
  int within = take(image, plane);
  int at = (image * y_sizes[1] + channel) * plane + within;
  y_put4(at, finish_fours(value + bias, at));
}

void main() {
  int plane = y_sizes[2] * y_sizes[3] / 4;
  int count = y_sizes[0] * plane;
  int tiles = (count + 1) / 2;
  int block = flat_index();
  int first = take(block, tiles) * 2;
  int channel = block * 8;
  if (channel >= y_sizes[1]) return;
  int second = min(first + 1, count - 1);
  int x0 = first + divide(first, plane) * (group_in - 1) * plane;
  int x1 = second + divide(second, plane) * (group_in - 1) * plane;
  int next_block = (group_in + 3) / 4 * 4;
  int w = channel / 4 * next_block;
  vec4 left0 = vec4(0.0);
  vec4 right0 = vec4(0.0);
  vec4 left1 = vec4(0.0);
  vec4 right1 = vec4(0.0);
  vec4 left2 = vec4(0.0);
  vec4 right2 = vec4(0.0);
  vec4 left3 = vec4(0.0);
  vec4 right3 = vec4(0.0);
  vec4 left4 = vec4(0.0);
  vec4 right4 = vec4(0.0);
  vec4 left5 = vec4(0.0);
  vec4 right5 = vec4(0.0);
  vec4 left6 = vec4(0.0);
  vec4 right6 = vec4(0.0);
  vec4 left7 = vec4(0.0);
  vec4 right7 = vec4(0.0);
  for (int c = 0; c < group_in; c++) {
    vec4 v0 = x_at4(x0 + c * plane);
    vec4 v1 = x_at4(x1 + c * plane);
    vec4 w0 = weight_at4(w + c);
    vec4 w1 = weight_at4(w + c + next_block);
    left0 += w0[0] * v0;
    right0 += w0[0] * v1;
    left1 += w0[1] * v0;
    right1 += w0[1] * v1;
    left2 += w0[2] * v0;
    right2 += w0[2] * v1;
    left3 += w0[3] * v0;
    right3 += w0[3] * v1;
    left4 += w1[0] * v0;
    right4 += w1[0] * v1;
    left5 += w1[1] * v0;
    right5 += w1[1] * v1;
    left6 += w1[2] * v0;
    right6 += w1[2] * v1;
    left7 += w1[3] * v0;
    right7 += w1[3] * v1;
  }
  // One copy of the epilogue: unrolled, it would be most of the module.
  vec4 left[8];
  vec4 right[8];
  left[0] = left0;
  right[0] = right0;
  left[1] = left1;
  right[1] = right1;
  left[2] = left2;
  right[2] = right2;
  left[3] = left3;
  right[3] = right3;
  left[4] = left4;
  right[4] = right4;
  left[5] = left5;
  right[5] = right5;
  left[6] = left6;
  right[6] = right6;
  left[7] = left7;
  right[7] = right7;
  for (int o = 0; o < 8; o++) {
    store(first, channel + o, left[o]);
    store(first + 1, channel + o, right[o]);
  }
}
