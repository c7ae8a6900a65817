#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require

#define VALUE float

float initial_max() {
  return -INF;
}

VALUE result_of(VALUE v, VALUE row_max, VALUE sum) {
  return v - row_max - precise_log(sum);
}

// First of four columns of this lane, which are adjacent or 8 apart.
int first_column(int k) { return (ALIGNED_4 ? 4 * cluster_lane() : cluster_lane()) + 32 * k; }
bvec4 in_row(int column) { return lessThan(column + ivec4(0, 1, 2, 3) * (ALIGNED_4 ? 1 : 8), ivec4(count)); }

void main() {
  int row = cluster_index();
  int begin = min(row, rows - 1) * count;
  vec4 values[8];
  vec4 lane_max = vec4(initial_max());
  [[unroll]] for (int k = 0; k < VEC4S_PER_LANE; k++) {
    int column = first_column(k);
    vec4 v;
    if (ALIGNED_4) {
      v = x_load4((begin + min(column, count - 4)) / 4);
    } else {
      for (int e = 0; e < 4; e++) v[e] = x_load(begin + min(column + 8 * e, count - 1));
    }
    values[k] = mix(vec4(-INF), v, in_row(column));
    lane_max = max(lane_max, values[k]);
  }
  float row_max = cluster_max(max(max(lane_max.x, lane_max.y), max(lane_max.z, lane_max.w)));
  vec4 lane_sum = vec4(0.0);
  [[unroll]] for (int k = 0; k < VEC4S_PER_LANE; k++) {
    lane_sum += mix(vec4(0.0), exp(values[k] - row_max), in_row(first_column(k)));
  }
  float sum = cluster_sum((lane_sum.x + lane_sum.y) + (lane_sum.z + lane_sum.w));
  if (row >= rows) return;
  [[unroll]] for (int k = 0; k < VEC4S_PER_LANE; k++) {
    int column = first_column(k);
    vec4 y;
    for (int e = 0; e < 4; e++) y[e] = result_of(values[k][e], row_max, sum);
    if (!ALIGNED_4) {
      for (int e = 0; e < 4; e++) {
        if (column + 8 * e < count) y_store(begin + column + 8 * e, y[e]);
      }
    } else if (column < count) {
      y_store4((begin + column) / 4, y);
    }
  }
}
