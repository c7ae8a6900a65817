#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

const int CLUSTERS = int(gl_WorkGroupSize.x) / 8;

shared vec4 totals[8 * CLUSTERS];  // per cluster, one vec4 of each lane
shared vec2 max_and_sum[CLUSTERS];

void main() {
  int row_index = workgroup_index();
  int batch = min(row_index, rows - 1);
  int head = unravel(batch, heads);
  int kv_head = divide(head, gqa_group);
  int cluster = int(gl_LocalInvocationID.x) / 8;
  int slot = position_load(0);
  bool in_cache = slot >= 0 && slot < capacity;
  int angles = clamp(slot, 0, context - 1) * HEAD_VEC8S;
  int query_head = (batch * (heads + 2 * kv_heads) + head) * 2 * HEAD_VEC8S;
  int key_head = (batch * (heads + 2 * kv_heads) + heads + kv_head) * 2 * HEAD_VEC8S;
  int value_head = key_head + kv_heads * 2 * HEAD_VEC8S;
  int cache = (batch * capacity * kv_heads + kv_head) * HEAD_VEC8S;
  int step = kv_heads * HEAD_VEC8S;

  vec4 query[2 * VEC8S_PER_LANE];
  vec4 total[2 * VEC8S_PER_LANE];
  // Query, then key: loops, since the called functions are long.
  int rotated_heads[2] = int[2](query_head, key_head);
  float scales[2];
  for (int k = 0; k < 2; k++) scales[k] = norm_scale(rotated_heads[k]);
  scales[0] *= scale != 0.0 ? scale : inversesqrt(float(8 * HEAD_VEC8S));
  float score = 0.0;
  bool stores_kv = cluster == 0 && row_index < rows && in_cache && head == kv_head * gqa_group;
  [[unroll]] for (int i = 0; i < VEC8S_PER_LANE; i++) {
    vec4 key[2];
    [[unroll]] for (int vec4_half = 0; vec4_half < 2; vec4_half++) {
      int index4 = 2 * lane_vec8(i) + vec4_half;
      vec4 rotated_pair[2];
      [[unroll]] for (int k = 0; k < 2; k++) rotated_pair[k] = rotated(rotated_heads[k], index4, angles, k == 0) * scales[k];
      query[2 * i + vec4_half] = has_lane_vec8(i) ? rotated_pair[0] : vec4(0.0);
      key[vec4_half] = rotated_pair[1];
      total[2 * i + vec4_half] = x_load4(value_head + index4);
      score += dot(query[2 * i + vec4_half], key[vec4_half]);
    }
    vec4 value[2] = vec4[2](total[2 * i], total[2 * i + 1]);
    store_kv8(stores_kv && has_lane_vec8(i), cache + slot * step + lane_vec8(i), key, value);
  }
  // The first cluster starts with the step's own row.
  bool has_own_row = cluster == 0 && in_cache;
  score = capped(cluster_sum(score));
  float running_max = has_own_row ? score : -INF;
  float sum = has_own_row ? 1.0 : 0.0;
  for (int i = 0; i < 2 * VEC8S_PER_LANE; i++) total[i] = has_own_row ? total[i] : vec4(0.0);

  int end = clamp(slot, 0, capacity);
  int begin = window > 0 ? max(slot - window + 1, 0) : 0;
  // A cluster has 4 / VEC8S_PER_LANE rows in flight.
  const int ROWS_IN_FLIGHT = 4 / VEC8S_PER_LANE;
  for (int block = begin; block < end; block += ROWS_IN_FLIGHT * CLUSTERS) {
    new_keys_Packed8 row_keys[ROWS_IN_FLIGHT * VEC8S_PER_LANE];
    new_values_Packed8 row_values[ROWS_IN_FLIGHT * VEC8S_PER_LANE];
    [[unroll]] for (int k = 0; k < ROWS_IN_FLIGHT; k++) {
      int row = cache + min(block + cluster + k * CLUSTERS, end - 1) * step;
      [[unroll]] for (int i = 0; i < VEC8S_PER_LANE; i++) {
        row_keys[k * VEC8S_PER_LANE + i] = new_keys_load8_packed(row + lane_vec8(i));
        row_values[k * VEC8S_PER_LANE + i] = new_values_load8_packed(row + lane_vec8(i));
      }
    }
    vec4 low;
    vec4 high;
    float scores[ROWS_IN_FLIGHT];
    float next_max = running_max;
    [[unroll]] for (int k = 0; k < ROWS_IN_FLIGHT; k++) {
      float dot_product = 0.0;
      [[unroll]] for (int i = 0; i < VEC8S_PER_LANE; i++) {
        new_keys_unpack8(row_keys[k * VEC8S_PER_LANE + i], low, high);
        dot_product += dot(query[2 * i], low) + dot(query[2 * i + 1], high);
      }
      dot_product = capped(cluster_sum(dot_product));
      scores[k] = block + cluster + k * CLUSTERS < end ? dot_product : -INF;
      next_max = max(next_max, scores[k]);
    }
    // All keys so far are masked: any finite base avoids NaN (-INF - -INF).
    float base = next_max == -INF ? 0.0 : next_max;
    float rescale = exp(running_max - base);
    running_max = next_max;
    sum *= rescale;
    for (int i = 0; i < 2 * VEC8S_PER_LANE; i++) total[i] *= rescale;
    [[unroll]] for (int k = 0; k < ROWS_IN_FLIGHT; k++) {
      float weight = exp(scores[k] - base);
      sum += weight;
      [[unroll]] for (int i = 0; i < VEC8S_PER_LANE; i++) {
        new_values_unpack8(row_values[k * VEC8S_PER_LANE + i], low, high);
        total[2 * i] += weight * low;
        total[2 * i + 1] += weight * high;
      }
    }
  }

  if (cluster_lane() == 0) max_and_sum[cluster] = vec2(running_max, sum);
  barrier();
  float global_max = -INF;
  for (int k = cluster_lane(); k < CLUSTERS; k += 8) global_max = max(global_max, max_and_sum[k].x);
  global_max = cluster_max(global_max);
  global_max = global_max == -INF ? 0.0 : global_max;
  sum = 0.0;
  for (int k = cluster_lane(); k < CLUSTERS; k += 8) sum += max_and_sum[k].y * exp(max_and_sum[k].x - global_max);
  sum = cluster_sum(sum);
  float lane_weight_sum = exp(running_max - global_max);
  int local_index = int(gl_LocalInvocationID.x);
  [[unroll]] for (int i = 0; i < 2 * VEC8S_PER_LANE; i++) {
    // First over every eighth cluster, then over the remaining 8.
    barrier();
    totals[local_index] = total[i] * lane_weight_sum;
    barrier();
    for (int k = cluster + 8; cluster < 8 && k < CLUSTERS; k += 8) totals[local_index] += totals[k * 8 + cluster_lane()];
    barrier();
    total[i] = vec4(0.0);
    for (int k = 0; cluster == 0 && k < min(8, CLUSTERS); k++) total[i] += totals[k * 8 + local_index];
  }
  if (cluster > 0 || row_index >= rows) return;
  float inverse_sum = 1.0 / (sum == 0.0 ? 1.0 : sum);
  for (int i = 0; i < VEC8S_PER_LANE; i++) {
    if (has_lane_vec8(i)) y_store8(row_index * HEAD_VEC8S + lane_vec8(i), (total[2 * i] * inverse_sum), (total[2 * i + 1] * inverse_sum));
  }
}
