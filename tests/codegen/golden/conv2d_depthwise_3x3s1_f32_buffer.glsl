#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  ivec4 sizes = IVEC4(y_sizes);
  int strips = (sizes.w + 3) / 4;
  int chunks = (sizes.z + strip_rows - 1) / strip_rows;
  int plane = flat_index();
  int column = unravel(plane, strips) * 4;
  int row = unravel(plane, chunks) * strip_rows;
  if (plane >= sizes.x * sizes.y) return;
  int channel = plane - divide(plane, sizes.y) * sizes.y;

  float w0 = weight_load(channel * 9 + 0);
  float w1 = weight_load(channel * 9 + 1);
  float w2 = weight_load(channel * 9 + 2);
  float w3 = weight_load(channel * 9 + 3);
  float w4 = weight_load(channel * 9 + 4);
  float w5 = weight_load(channel * 9 + 5);
  float w6 = weight_load(channel * 9 + 6);
  float w7 = weight_load(channel * 9 + 7);
  float w8 = weight_load(channel * 9 + 8);
  float bias = has_bias != 0 ? bias_load(channel) : 0.0;
  int x_plane = plane * x_sizes[2] * x_sizes[3];
  int x_column = column * 1 - padding[1];
  bool inside0 = x_column + 0 >= 0 && x_column + 0 < x_sizes[3];
  int x0 = x_plane + clamp(x_column + 0, 0, x_sizes[3] - 1);
  bool inside1 = x_column + 1 >= 0 && x_column + 1 < x_sizes[3];
  int x1 = x_plane + clamp(x_column + 1, 0, x_sizes[3] - 1);
  bool inside2 = x_column + 2 >= 0 && x_column + 2 < x_sizes[3];
  int x2 = x_plane + clamp(x_column + 2, 0, x_sizes[3] - 1);
  bool inside3 = x_column + 3 >= 0 && x_column + 3 < x_sizes[3];
  int x3 = x_plane + clamp(x_column + 3, 0, x_sizes[3] - 1);
  bool inside4 = x_column + 4 >= 0 && x_column + 4 < x_sizes[3];
  int x4 = x_plane + clamp(x_column + 4, 0, x_sizes[3] - 1);
  bool inside5 = x_column + 5 >= 0 && x_column + 5 < x_sizes[3];
  int x5 = x_plane + clamp(x_column + 5, 0, x_sizes[3] - 1);
  vec4 sum0 = vec4(bias);
  vec4 sum1 = vec4(bias);
  vec4 sum2 = vec4(bias);
  int at = (plane * sizes.z + row - 2) * sizes.w + column;
  int last = min(row + strip_rows, sizes.z) + 2;
  for (int o = row; o < last; o++) {
    {
      int x_row = o * 1 + 0 - padding[0];
      bool inside = x_row >= 0 && x_row < x_sizes[2];
      int start = clamp(x_row, 0, x_sizes[2] - 1) * x_sizes[3];
      float v0 = x_load(start + x0);
      v0 = inside && inside0 ? v0 : 0.0;
      float v1 = x_load(start + x1);
      v1 = inside && inside1 ? v1 : 0.0;
      float v2 = x_load(start + x2);
      v2 = inside && inside2 ? v2 : 0.0;
      float v3 = x_load(start + x3);
      v3 = inside && inside3 ? v3 : 0.0;
      float v4 = x_load(start + x4);
      v4 = inside && inside4 ? v4 : 0.0;
      float v5 = x_load(start + x5);
      v5 = inside && inside5 ? v5 : 0.0;
      sum0 += w0 * vec4(v0, v1, v2, v3);
      sum0 += w1 * vec4(v1, v2, v3, v4);
      sum0 += w2 * vec4(v2, v3, v4, v5);
      sum1 += w3 * vec4(v0, v1, v2, v3);
      sum1 += w4 * vec4(v1, v2, v3, v4);
      sum1 += w5 * vec4(v2, v3, v4, v5);
      sum2 += w6 * vec4(v0, v1, v2, v3);
      sum2 += w7 * vec4(v1, v2, v3, v4);
      sum2 += w8 * vec4(v2, v3, v4, v5);
    }
    if (o >= row + 2) {
      vec4 value = finish4(sum2, at + min(ivec4(0, 1, 2, 3), ivec4(sizes.w - 1 - column)));
      if (ALIGNED_4) {
        y_store4(at >> 2, value);
      } else {
        for (int p = 0; p < min(4, sizes.w - column); p++) y_store(at + p, value[p]);
      }
    }
    at += sizes.w;
    sum2 = sum1;
    sum1 = sum0;
    sum0 = vec4(bias);
  }
}
