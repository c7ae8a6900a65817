#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require

const int THREADS = 128;
const int CLUSTERS = THREADS / 8;

const int ROWS_IN_FLIGHT = 4 / VEC8S_PER_LANE;  // per cluster
const int VEC4S = 2 * VEC8S_PER_LANE;           // per lane and head
const int MIN_SPLIT_ROWS = 32;

shared vec4 totals[2 * THREADS];
shared vec2 max_and_sum[GROUP * CLUSTERS];
shared vec4 rotated_query[THREADS];  // GROUP heads, before their norm scales
shared vec4 rotated_key[64];
shared float norm_scales[GROUP + 1];  // of the query heads and the key head

void main() {
  int rest = min(workgroup_index(), count - 1);
  bool in_grid = workgroup_index() < count;
  int split = unravel(rest, splits);
  int chunk = unravel(rest, chunks);
  int kv_head = unravel(rest, kv_heads);
  int batch = rest;
  int first_head = kv_head * gqa_group + chunk * GROUP;
  int local_index = int(gl_LocalInvocationID.x);
  int cluster = local_index / 8;
  int row_vec4s = 2 * HEAD_VEC8S + 2;

  int slot = position_load(0);
  int end = clamp(slot, 0, capacity);
  int begin = window > 0 ? max(slot - window + 1, 0) : 0;
  int length = max(divide(max(end - begin, 0) + splits - 1, splits), MIN_SPLIT_ROWS);
  begin += split * length;
  end = min(end, begin + length);
  if (split > 0 && begin >= end) {
    int stored = in_grid ? min(GROUP, (kv_head + 1) * gqa_group - first_head) * row_vec4s : 0;
    for (int i = local_index; i < stored; i += THREADS) {
      int h = i / row_vec4s;
      int column = i - h * row_vec4s;
      vec4 v = vec4(column == 2 * HEAD_VEC8S ? -INF : 0.0, 0.0, 0.0, 0.0);
      y_store4(((batch * heads + first_head + h) * splits + split) * row_vec4s + column, v);
    }
    return;
  }

  bool has_own_row = split == 0 && cluster == 0 && slot >= 0 && slot < capacity;
  int angles = clamp(slot, 0, context - 1) * HEAD_VEC8S;
  int x_heads = batch * (heads + 2 * kv_heads);
  int last_head = (kv_head + 1) * gqa_group - 1;
  int key_head = (x_heads + heads + kv_head) * 2 * HEAD_VEC8S;
  int value_head = key_head + kv_heads * 2 * HEAD_VEC8S;
  int cache = (batch * capacity * kv_heads + kv_head) * HEAD_VEC8S;
  int step = kv_heads * HEAD_VEC8S;

  // One vec4 of the query heads per invocation; then the key of the step's own row.
  int group_head = local_index / (2 * HEAD_VEC8S);
  int index4 = local_index - group_head * 2 * HEAD_VEC8S;
  [[dont_unroll]] for (int k = 0; k < (split == 0 ? 2 : 1); k++) {
    bool is_query = k == 0;
    int head = is_query ? (x_heads + min(first_head + group_head, last_head)) * 2 * HEAD_VEC8S : key_head;
    vec4 v = rotated(head, index4, angles, is_query);
    if (is_query) rotated_query[local_index] = v;
    if (!is_query && group_head == 0) rotated_key[index4] = v;
  }
  if (has_norms != 0) {
    int head = cluster == GROUP ? key_head : (x_heads + min(first_head + cluster, last_head)) * 2 * HEAD_VEC8S;
    float factor = norm_scale(head);
    if (cluster <= GROUP && cluster_lane() == 0) norm_scales[cluster] = factor;
  }
  barrier();

  vec4 query[GROUP * VEC4S];
  vec4 total[GROUP * VEC4S];
  float running_max[GROUP];
  float sum[GROUP];
  [[unroll]] for (int h = 0; h < GROUP; h++) {
    float factor = scale != 0.0 ? scale : inversesqrt(float(8 * HEAD_VEC8S));
    if (has_norms != 0) factor *= norm_scales[h];
    [[unroll]] for (int i = 0; i < VEC4S; i++) {
      vec4 v = rotated_query[h * 2 * HEAD_VEC8S + 2 * lane_vec8(i / 2) + i % 2] * factor;
      query[h * VEC4S + i] = has_lane_vec8(i / 2) ? v : vec4(0.0);
      total[h * VEC4S + i] = vec4(0.0);
    }
    running_max[h] = -INF;
    sum[h] = 0.0;
  }
  if (split == 0) {
    float factor = has_norms != 0 ? norm_scales[GROUP] : 1.0;
    float scores[GROUP];
    [[unroll]] for (int h = 0; h < GROUP; h++) scores[h] = 0.0;
    [[unroll]] for (int i = 0; i < VEC4S; i++) {
      int lane_vec4 = 2 * lane_vec8(i / 2) + i % 2;
      vec4 key = rotated_key[lane_vec4] * factor;
      vec4 value = x_load4(value_head + lane_vec4);
      [[unroll]] for (int h = 0; h < GROUP; h++) {
        scores[h] += dot(query[h * VEC4S + i], key);
        total[h * VEC4S + i] = has_own_row ? value : vec4(0.0);
      }
    }
    [[unroll]] for (int h = 0; h < GROUP; h++) {
      float score = capped(cluster_sum(scores[h]));
      running_max[h] = has_own_row ? score : -INF;
      sum[h] = has_own_row ? 1.0 : 0.0;
    }
  }

  [[dont_unroll]] for (int block = begin; block < end; block += ROWS_IN_FLIGHT * CLUSTERS) {
    keys_Packed8 row_keys[ROWS_IN_FLIGHT * VEC8S_PER_LANE];
    values_Packed8 row_values[ROWS_IN_FLIGHT * VEC8S_PER_LANE];
    [[unroll]] for (int k = 0; k < ROWS_IN_FLIGHT; k++) {
      int row = cache + min(block + cluster + k * CLUSTERS, end - 1) * step;
      [[unroll]] for (int i = 0; i < VEC8S_PER_LANE; i++) {
        row_keys[k * VEC8S_PER_LANE + i] = keys_load8_packed(row + lane_vec8(i));
        row_values[k * VEC8S_PER_LANE + i] = values_load8_packed(row + lane_vec8(i));
      }
    }
    vec4 low;
    vec4 high;
    float scores[GROUP * ROWS_IN_FLIGHT];
    [[unroll]] for (int k = 0; k < ROWS_IN_FLIGHT; k++) {
      float products[GROUP];
      [[unroll]] for (int h = 0; h < GROUP; h++) products[h] = 0.0;
      [[unroll]] for (int i = 0; i < VEC8S_PER_LANE; i++) {
        keys_unpack8(row_keys[k * VEC8S_PER_LANE + i], low, high);
        [[unroll]] for (int h = 0; h < GROUP; h++) {
          products[h] += dot(query[h * VEC4S + 2 * i], low) + dot(query[h * VEC4S + 2 * i + 1], high);
        }
      }
      bool in_split = block + cluster + k * CLUSTERS < end;
      [[unroll]] for (int h = 0; h < GROUP; h++) {
        float score = capped(cluster_sum(products[h]));
        scores[k * GROUP + h] = in_split ? score : -INF;
      }
    }
    [[unroll]] for (int h = 0; h < GROUP; h++) {
      float next_max = running_max[h];
      [[unroll]] for (int k = 0; k < ROWS_IN_FLIGHT; k++) next_max = max(next_max, scores[k * GROUP + h]);
      // The cluster has had no row so far: any finite base avoids NaN (-INF - -INF).
      float base = next_max == -INF ? 0.0 : next_max;
      float rescale = exp(running_max[h] - base);
      running_max[h] = next_max;
      sum[h] *= rescale;
      [[unroll]] for (int i = 0; i < VEC4S; i++) total[h * VEC4S + i] *= rescale;
      [[unroll]] for (int k = 0; k < ROWS_IN_FLIGHT; k++) {
        scores[k * GROUP + h] = exp(scores[k * GROUP + h] - base);
        sum[h] += scores[k * GROUP + h];
      }
    }
    [[unroll]] for (int k = 0; k < ROWS_IN_FLIGHT; k++) {
      [[unroll]] for (int i = 0; i < VEC8S_PER_LANE; i++) {
        values_unpack8(row_values[k * VEC8S_PER_LANE + i], low, high);
        [[unroll]] for (int h = 0; h < GROUP; h++) {
          total[h * VEC4S + 2 * i] += scores[k * GROUP + h] * low;
          total[h * VEC4S + 2 * i + 1] += scores[k * GROUP + h] * high;
        }
      }
    }
  }

  if (cluster_lane() == 0) {
    [[unroll]] for (int h = 0; h < GROUP; h++) max_and_sum[h * CLUSTERS + cluster] = vec2(running_max[h], sum[h]);
  }
  barrier();
  // Of 2 vec4s per lane of a cluster, each cluster sums one over all clusters.
  int sum_lane = cluster & 7;
  int sum_half = cluster >> 3;
  [[unroll]] for (int h = 0; h < GROUP; h++) {
    float global_max = -INF;
    for (int k = cluster_lane(); k < CLUSTERS; k += 8) global_max = max(global_max, max_and_sum[h * CLUSTERS + k].x);
    global_max = cluster_max(global_max);
    float base = global_max == -INF ? 0.0 : global_max;
    float sum_part = 0.0;
    for (int k = cluster_lane(); k < CLUSTERS; k += 8) {
      vec2 other = max_and_sum[h * CLUSTERS + k];
      sum_part += other.y * exp(other.x - base);
    }
    float global_sum = cluster_sum(sum_part);
    float weight = exp(running_max[h] - base);
    bool stores = in_grid && first_head + h <= last_head && cluster_lane() == 0;
    int row = ((batch * heads + first_head + h) * splits + split) * row_vec4s;
    [[unroll]] for (int i = 0; i < VEC8S_PER_LANE; i++) {
      barrier();
      totals[local_index] = total[h * VEC4S + 2 * i] * weight;
      totals[THREADS + local_index] = total[h * VEC4S + 2 * i + 1] * weight;
      barrier();
      vec4 part = vec4(0.0);
      for (int k = cluster_lane(); k < CLUSTERS; k += 8) part += totals[sum_half * THREADS + 8 * k + sum_lane];
      vec4 summed = vec4(cluster_sum(part.x), cluster_sum(part.y), cluster_sum(part.z), cluster_sum(part.w));
      int vec8 = sum_lane + 8 * i;
      if (stores && vec8 < HEAD_VEC8S) y_store4(row + 2 * vec8 + sum_half, summed);
    }
    if (stores && cluster < 2) y_store4(row + 2 * HEAD_VEC8S + cluster, cluster == 0 ? vec4(global_max, global_sum, 0.0, 0.0) : vec4(0.0));
  }
}
