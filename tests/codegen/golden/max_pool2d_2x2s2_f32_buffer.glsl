#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

vec4 maximum4(vec4 a, vec4 b) { return vec4(maximum(a.x, b.x), maximum(a.y, b.y), maximum(a.z, b.z), maximum(a.w, b.w)); }

void main() {
  ivec4 sizes = IVEC4(y_sizes);
  int plane = flat_index();
  int column = unravel(plane, (sizes.w + 3) / 4) * 4;
  int row = unravel(plane, (sizes.z + strip_rows - 1) / strip_rows) * strip_rows;
  if (plane >= sizes.x * sizes.y) return;
  int x_plane = plane * x_sizes[2] * x_sizes[3];
  int x_column = column * 2 - padding[1];
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
  bool inside6 = x_column + 6 >= 0 && x_column + 6 < x_sizes[3];
  int x6 = x_plane + clamp(x_column + 6, 0, x_sizes[3] - 1);
  bool inside7 = x_column + 7 >= 0 && x_column + 7 < x_sizes[3];
  int x7 = x_plane + clamp(x_column + 7, 0, x_sizes[3] - 1);
  vec4 best0 = vec4(-INF);
  int at = (plane * sizes.z + row - 0) * sizes.w + column;
  int last = min(row + strip_rows, sizes.z) + 0;
  for (int o = row; o < last; o++) {
    {
      int x_row = o * 2 + 0 - padding[0];
      bool inside = x_row >= 0 && x_row < x_sizes[2];
      int start = clamp(x_row, 0, x_sizes[2] - 1) * x_sizes[3];
      float v0 = x_load(start + x0);
      v0 = inside && inside0 ? v0 : -INF;
      float v1 = x_load(start + x1);
      v1 = inside && inside1 ? v1 : -INF;
      float v2 = x_load(start + x2);
      v2 = inside && inside2 ? v2 : -INF;
      float v3 = x_load(start + x3);
      v3 = inside && inside3 ? v3 : -INF;
      float v4 = x_load(start + x4);
      v4 = inside && inside4 ? v4 : -INF;
      float v5 = x_load(start + x5);
      v5 = inside && inside5 ? v5 : -INF;
      float v6 = x_load(start + x6);
      v6 = inside && inside6 ? v6 : -INF;
      float v7 = x_load(start + x7);
      v7 = inside && inside7 ? v7 : -INF;
      vec4 row_max = vec4(-INF);
      row_max = maximum4(row_max, vec4(v0, v2, v4, v6));
      row_max = maximum4(row_max, vec4(v1, v3, v5, v7));
      best0 = maximum4(best0, row_max);
    }
    {
      int x_row = o * 2 + 1 - padding[0];
      bool inside = x_row >= 0 && x_row < x_sizes[2];
      int start = clamp(x_row, 0, x_sizes[2] - 1) * x_sizes[3];
      float v0 = x_load(start + x0);
      v0 = inside && inside0 ? v0 : -INF;
      float v1 = x_load(start + x1);
      v1 = inside && inside1 ? v1 : -INF;
      float v2 = x_load(start + x2);
      v2 = inside && inside2 ? v2 : -INF;
      float v3 = x_load(start + x3);
      v3 = inside && inside3 ? v3 : -INF;
      float v4 = x_load(start + x4);
      v4 = inside && inside4 ? v4 : -INF;
      float v5 = x_load(start + x5);
      v5 = inside && inside5 ? v5 : -INF;
      float v6 = x_load(start + x6);
      v6 = inside && inside6 ? v6 : -INF;
      float v7 = x_load(start + x7);
      v7 = inside && inside7 ? v7 : -INF;
      vec4 row_max = vec4(-INF);
      row_max = maximum4(row_max, vec4(v0, v2, v4, v6));
      row_max = maximum4(row_max, vec4(v1, v3, v5, v7));
      best0 = maximum4(best0, row_max);
    }
    if (o >= row + 0) {
      if (ALIGNED_4) {
        y_store4(at >> 2, best0);
      } else {
        for (int p = 0; p < min(4, sizes.w - column); p++) y_store(at + p, best0[p]);
      }
    }
    at += sizes.w;
    best0 = vec4(-INF);
  }
}
