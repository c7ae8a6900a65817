#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require

const int THREADS = int(gl_WorkGroupSize.x);
const int CLUSTERS = THREADS / 8;

const int VEC4S = 2 * VEC8S_PER_LANE;    // per lane
const int HEAD_VEC4S = 2 * HEAD_VEC8S;
const int STRIPES = CLUSTERS / GROUP;    // clusters of a query head

shared vec4 totals[2 * THREADS];
shared vec2 max_and_sum[CLUSTERS];
shared vec4 rotated_heads[(GROUP + 1) * HEAD_VEC4S];  // query heads and the key head, before their norm scales
shared float norm_scales[GROUP + 1];

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
  int stripe = cluster / GROUP;
  int group_head = cluster - stripe * GROUP;
  int row_vec4s = HEAD_VEC4S + 2;

  int slot = position_load(0);
  ivec2 visible = visible_rows(slot);
  int length = split_rows(visible.y - visible.x);
  int begin = visible.x + split * length;
  int end = min(visible.y, begin + length);
  if (split > 0 && begin >= end) {
    int stored = in_grid ? min(GROUP, (kv_head + 1) * gqa_group - first_head) * row_vec4s : 0;
    for (int i = local_index; i < stored; i += THREADS) {
      int h = i / row_vec4s;
      int column = i - h * row_vec4s;
      vec4 v = vec4(column == HEAD_VEC4S ? -INF : 0.0, 0.0, 0.0, 0.0);
      y_store4(((batch * heads + first_head + h) * splits + split) * row_vec4s + column, v);
    }
    return;
  }

  int angles = clamp(slot, 0, context - 1) * HEAD_VEC8S;
  int x_heads = batch * (heads + 2 * kv_heads);
  int last_head = (kv_head + 1) * gqa_group - 1;
  int key_head = (x_heads + heads + kv_head) * HEAD_VEC4S;
  int value_head = key_head + kv_heads * HEAD_VEC4S;
  int cache = (batch * capacity * kv_heads + kv_head) * HEAD_VEC8S;
  int step = kv_heads * HEAD_VEC8S;
  bool has_own_row = split == 0 && stripe == 0 && slot >= 0 && slot < capacity;

  // The first row; of the next rows, each is loaded before its predecessor is processed.
  keys_Packed8 next_keys[VEC8S_PER_LANE];
  values_Packed8 next_values[VEC8S_PER_LANE];
    {
      int at = cache + clamp(begin + stripe, 0, capacity - 1) * step;
      [[unroll]] for (int i = 0; i < VEC8S_PER_LANE; i++) {
        next_keys[i] = keys_load8_packed(at + lane_vec8(i));
        next_values[i] = values_load8_packed(at + lane_vec8(i));
      }
    }

  vec4 total[VEC4S];
  [[unroll]] for (int i = 0; i < VEC4S; i++) {
    total[i] = has_own_row ? x_load4(value_head + 2 * lane_vec8(i / 2) + i % 2) : vec4(0.0);
  }

  // One vec4 of the query heads and, for the step's own row, of the key head per invocation.
  [[dont_unroll]] for (int i = local_index; i < (split == 0 ? GROUP + 1 : GROUP) * HEAD_VEC4S; i += THREADS) {
    int head = i / HEAD_VEC4S;
    bool is_query = head < GROUP;
    int first = is_query ? (x_heads + min(first_head + head, last_head)) * HEAD_VEC4S : key_head;
    rotated_heads[i] = rotated(first, i - head * HEAD_VEC4S, angles, is_query);
  }
  if (has_norms != 0) {
    int head = cluster == GROUP ? key_head : (x_heads + min(first_head + cluster, last_head)) * HEAD_VEC4S;
    float factor = norm_scale(head);
    if (cluster <= GROUP && cluster_lane() == 0) norm_scales[cluster] = factor;
  }
  barrier();

  float factor = scale != 0.0 ? scale : inversesqrt(float(8 * HEAD_VEC8S));
  if (has_norms != 0) factor *= norm_scales[group_head];
  vec4 query[VEC4S];
  [[unroll]] for (int i = 0; i < VEC4S; i++) {
    vec4 v = rotated_heads[group_head * HEAD_VEC4S + 2 * lane_vec8(i / 2) + i % 2] * factor;
    query[i] = has_lane_vec8(i / 2) ? v : vec4(0.0);
  }
  float running_max = -INF;
  float sum = 0.0;
  if (split == 0) {
    float product = 0.0;
    [[unroll]] for (int i = 0; i < VEC4S; i++) product += dot(query[i], rotated_heads[GROUP * HEAD_VEC4S + 2 * lane_vec8(i / 2) + i % 2]);
    float score = capped(cluster_sum(has_norms != 0 ? product * norm_scales[GROUP] : product));
    running_max = has_own_row ? score : -INF;
    sum = has_own_row ? 1.0 : 0.0;
  }

  [[dont_unroll]] for (int block = begin; block < end; block += STRIPES) {
    keys_Packed8 row_keys[VEC8S_PER_LANE];
    values_Packed8 row_values[VEC8S_PER_LANE];
    [[unroll]] for (int i = 0; i < VEC8S_PER_LANE; i++) {
      row_keys[i] = next_keys[i];
      row_values[i] = next_values[i];
    }
    {
      int at = cache + clamp(block + STRIPES + stripe, 0, capacity - 1) * step;
      [[unroll]] for (int i = 0; i < VEC8S_PER_LANE; i++) {
        next_keys[i] = keys_load8_packed(at + lane_vec8(i));
        next_values[i] = values_load8_packed(at + lane_vec8(i));
      }
    }

    vec4 low;
    vec4 high;
    float product = 0.0;
    [[unroll]] for (int i = 0; i < VEC8S_PER_LANE; i++) {
      keys_unpack8(row_keys[i], low, high);
      product += dot(query[2 * i], low) + dot(query[2 * i + 1], high);
    }
    float score = capped(cluster_sum(product));
    if (block + stripe >= end || stripe >= STRIPES) score = -INF;
    float next_max = max(running_max, score);
    // The cluster has had no row so far: any finite base avoids NaN (-INF - -INF).
    float base = next_max == -INF ? 0.0 : next_max;
    float rescale = exp(running_max - base);
    float weight = exp(score - base);
    running_max = next_max;
    sum = sum * rescale + weight;
    [[unroll]] for (int i = 0; i < VEC8S_PER_LANE; i++) {
      values_unpack8(row_values[i], low, high);
      total[2 * i] = total[2 * i] * rescale + weight * low;
      total[2 * i + 1] = total[2 * i + 1] * rescale + weight * high;
    }
  }

  if (cluster_lane() == 0) max_and_sum[cluster] = vec2(running_max, sum);
  barrier();
  float global_max = -INF;
  [[dont_unroll]] for (int k = cluster_lane(); k < STRIPES; k += 8) global_max = max(global_max, max_and_sum[k * GROUP + group_head].x);
  global_max = cluster_max(global_max);
  float base = global_max == -INF ? 0.0 : global_max;
  float global_sum = 0.0;
  [[dont_unroll]] for (int k = cluster_lane(); k < STRIPES; k += 8) {
    vec2 other = max_and_sum[k * GROUP + group_head];
    global_sum += other.y * exp(other.x - base);
  }
  global_sum = cluster_sum(global_sum);
  float weight = exp(running_max - base);
  // An invocation sums one vec4 of a query head over the clusters.
  int sum_lane = local_index & 7;
  int sum_half = local_index >> 3 & 1;
  int sum_head = local_index >> 4;
  bool stores = in_grid && first_head + sum_head <= last_head && sum_head < GROUP;
  int row = ((batch * heads + first_head + sum_head) * splits + split) * row_vec4s;
  [[unroll]] for (int i = 0; i < VEC8S_PER_LANE; i++) {
    barrier();
    totals[local_index] = total[2 * i] * weight;
    totals[THREADS + local_index] = total[2 * i + 1] * weight;
    barrier();
    int vec8 = sum_lane + 8 * i;
    if (stores && vec8 < HEAD_VEC8S) {
      vec4 summed = vec4(0.0);
      [[dont_unroll]] for (int k = 0; k < STRIPES; k++) summed += totals[sum_half * THREADS + 8 * (k * GROUP + sum_head) + sum_lane];
      y_store4(row + 2 * vec8 + sum_half, summed);
    }
  }
  // The first cluster of each query head.
  row = ((batch * heads + first_head + group_head) * splits + split) * row_vec4s + HEAD_VEC4S;
  if (in_grid && first_head + group_head <= last_head && stripe == 0 && cluster_lane() < 2) {
    y_store4(row + cluster_lane(), cluster_lane() == 0 ? vec4(global_max, global_sum, 0.0, 0.0) : vec4(0.0));
  }
}
