#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require

#define VALUE float

float result_of(float v, float row_max, float sum) { return v - row_max - log(sum); }

void main() {
  int row = cluster_index();
  int begin = min(row, rows - 1) * count;
  float values[32];
  float row_max = -INF;
  [[unroll]] for (int k = 0; k < ELEMENTS_PER_LANE; k++) {
    int column = cluster_lane() + 8 * k;
    float v = x_load(begin + min(column, count - 1));
    values[k] = column < count ? v : -INF;
    row_max = max(row_max, values[k]);
  }
  row_max = cluster_max(row_max);
  float sum = 0.0;
  [[unroll]] for (int k = 0; k < ELEMENTS_PER_LANE; k++) {
    sum += cluster_lane() + 8 * k < count ? exp(values[k] - row_max) : 0.0;
  }
  sum = cluster_sum(sum);
  [[unroll]] for (int k = 0; k < ELEMENTS_PER_LANE; k++) {
    int column = cluster_lane() + 8 * k;
    if (row < rows && column < count) y_store(begin + column, result_of(values[k], row_max, sum));
  }
}
