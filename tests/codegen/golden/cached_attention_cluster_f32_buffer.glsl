#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require

const int VEC8S_PER_LANE = (HEAD_VEC8S + 7) / 8;

int lane_vec8(int i) { return min(cluster_lane() + 8 * i, HEAD_VEC8S - 1); }

void main() {
  int row_index = cluster_index();
  if (row_index >= rows) return;
  int rest = row_index;
  int row = rest * HEAD_VEC8S;
  int inner_index = unravel(rest, heads_first != 0 ? queries : heads);
  int outer_index = unravel(rest, heads_first != 0 ? heads : queries);
  int head = divide(heads_first != 0 ? outer_index : inner_index, gqa_group);
  int query_index = heads_first != 0 ? inner_index : outer_index;
  int step = heads_first != 0 ? HEAD_VEC8S : kv_heads * HEAD_VEC8S;
  int cache = (heads_first != 0 ? (rest * kv_heads + head) * capacity : rest * capacity * kv_heads + head) * HEAD_VEC8S;
  int position = position_count == 1 ? positions_load(0) + query_index : positions_load(query_index);
  int end = min(position, capacity - 1) + 1;
  int begin = window > 0 ? max(position - window + 1, 0) : 0;
  vec4 query[2 * VEC8S_PER_LANE];
  vec4 total[2 * VEC8S_PER_LANE];
  for (int i = 0; i < VEC8S_PER_LANE; i++) query_load8(row + lane_vec8(i), query[2 * i], query[2 * i + 1]);
  for (int i = 0; i < 2 * VEC8S_PER_LANE; i++) {
    query[i] *= scale != 0.0 ? scale : inversesqrt(float(8 * HEAD_VEC8S));
    total[i] = vec4(0.0);
  }
  float running_max = -INF;
  float sum = 0.0;
  for (int i = 0; i < VEC8S_PER_LANE; i++) {
    int vec8 = cluster_lane() + 8 * i;
    if (vec8 >= HEAD_VEC8S) break;
    float inverse_sum = 1.0 / (sum == 0.0 ? 1.0 : sum);
    y_store8(row + vec8, (total[2 * i] * inverse_sum), (total[2 * i + 1] * inverse_sum));
  }
}
