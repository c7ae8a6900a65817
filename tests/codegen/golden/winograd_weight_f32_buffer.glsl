#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

vec4 transform(vec3 g) { return vec4(g.x, 0.5 * (g.x + g.y + g.z), 0.5 * (g.x - g.y + g.z), g.z); }

void main() {
  int i = flat_index();
  if (i >= n) return;
  int block = i;
  int lane = unravel(block, 32);
  int channel = unravel(block, in_padded);
  int o = block * 32 + lane;
  bool used = o < out_channels && channel < in_channels;
  int first = used ? (o * in_channels + channel) * 9 : 0;
  mat3 g;
  for (int k = 0; k < 9; k++) g[k / 3][k % 3] = used ? weight_load(first + k) : 0.0;
  // rows[j][r]: transformed along the window's columns; then along its rows.
  vec4 rows[3] = vec4[](transform(g[0]), transform(g[1]), transform(g[2]));
  for (int column = 0; column < 4; column++) {
    vec4 values = transform(vec3(rows[0][column], rows[1][column], rows[2][column]));
    for (int row = 0; row < 4; row++) y_store(((block * 16 + 4 * row + column) * in_padded + channel) * 32 + lane, values[row]);
  }
}
