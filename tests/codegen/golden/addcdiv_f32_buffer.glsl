#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float combine(float x, float a, float b) {
  return x + scale * a / b;
}

vec4 apply4(vec4 p, vec4 q, vec4 r) {
  vec4 y;
  for (int lane = 0; lane < 4; lane++) y[lane] = combine(p[lane], q[lane], r[lane]);  // a loop: smaller module
  return y;
}

// Sizes of the operands in a dimension.
ivec3 sizes_in(int d) { return ivec3(x_shape[d], a_shape[d], b_shape[d]); }

vec4 value4(int i) {
  // Indices of the elements of each operand; of the first one if the row is aligned.
  ivec3 index[4];
  for (int lane = 0; lane < (ALIGNED_ROWS ? 1 : 4); lane++) {
    int rest = min(4 * i + lane, n - 1);
    index[lane] = ivec3(0);
    ivec3 stride = ivec3(1);
    for (int d = 7; d > 7 - RANK; d--) {
      ivec3 sizes = sizes_in(d);
      index[lane] += unravel(rest, max(sizes.x, max(sizes.y, sizes.z))) * stride * min(sizes - 1, 1);
      stride *= sizes;
    }
  }
  vec4 x4 = x_load4(X_SAME ? i : index[0].x / 4);
  if (!X_SAME && (!ALIGNED_ROWS || x_shape[7] == 1)) {
    for (int lane = 0; lane < 4; lane++) {
      int at = index[ALIGNED_ROWS ? 0 : lane].x;
      x4[lane] = x_load4(at / 4)[at % 4];
    }
  }
  vec4 a4 = a_load4(A_SAME ? i : index[0].y / 4);
  if (!A_SAME && (!ALIGNED_ROWS || a_shape[7] == 1)) {
    for (int lane = 0; lane < 4; lane++) {
      int at = index[ALIGNED_ROWS ? 0 : lane].y;
      a4[lane] = a_load4(at / 4)[at % 4];
    }
  }
  vec4 b4 = b_load4(B_SAME ? i : index[0].z / 4);
  if (!B_SAME && (!ALIGNED_ROWS || b_shape[7] == 1)) {
    for (int lane = 0; lane < 4; lane++) {
      int at = index[ALIGNED_ROWS ? 0 : lane].z;
      b4[lane] = b_load4(at / 4)[at % 4];
    }
  }
  return apply4(x4, a4, b4);
}

void main() {
  int i = flat_index();
  if (4 * i < n) y_store4(i, value4(i));
}
