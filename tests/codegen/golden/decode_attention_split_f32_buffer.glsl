#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require

// Combines the splits of columns 8 `vec8` to 8 `vec8` + 7 of a query head.
void combine(int head, int vec8) {
  int step = 2 * HEAD_VEC8S + 2;
  int first = head * splits * step;
  ivec2 visible = visible_rows(position_load(0));
  int rows = visible.y - visible.x;
  int length = split_rows(rows);
  int count = max(divide(rows + length - 1, length), 1);  // splits that have rows
  float running_max = -INF;
  float sum = 0.0;
  vec4 low = vec4(0.0);
  vec4 high = vec4(0.0);
  [[dont_unroll]] for (int k = cluster_lane(); k < count; k += 8) {
    int at = first + k * step;
    vec4 max_and_sum = partials_load4(at + 2 * HEAD_VEC8S);
    vec4 split_low = partials_load4(at + 2 * vec8);
    vec4 split_high = partials_load4(at + 2 * vec8 + 1);
    float next_max = max(running_max, max_and_sum.x);
    // No row is visible: any finite base avoids NaN.
    float base = next_max == -INF ? 0.0 : next_max;
    float rescale = exp(running_max - base);
    float weight = exp(max_and_sum.x - base);
    running_max = next_max;
    sum = sum * rescale + weight * max_and_sum.y;
    low = low * rescale + weight * split_low;
    high = high * rescale + weight * split_high;
  }
  float maximum = cluster_max(running_max);
  float weight = exp(running_max - (maximum == -INF ? 0.0 : maximum));
  sum = cluster_sum(sum * weight);
  for (int k = 0; k < 4; k++) low[k] = cluster_sum(low[k] * weight);
  for (int k = 0; k < 4; k++) high[k] = cluster_sum(high[k] * weight);
  float inverse_sum = 1.0 / (sum == 0.0 ? 1.0 : sum);
  if (cluster_lane() == 0) y_store8(head * HEAD_VEC8S + vec8, (low * inverse_sum), (high * inverse_sum));
}

// Stores 64 columns, from vec8 `first_vec8`, of a head of the new row.
void store_row(int batch, int kv_head, int slot, int first_vec8) {
  int key_head = (batch * (heads + 2 * kv_heads) + heads + kv_head) * 2 * HEAD_VEC8S;
  int value_head = key_head + kv_heads * 2 * HEAD_VEC8S;
  int angles = clamp(slot, 0, context - 1) * HEAD_VEC8S;
  int vec8 = min(first_vec8 + cluster_lane(), HEAD_VEC8S - 1);
  float factor = norm_scale(key_head);
  vec4 key[2];
  vec4 value[2];
  for (int k = 0; k < 2; k++) {
    key[k] = rotated(key_head, 2 * vec8 + k, angles, false) * factor;
    value[k] = x_load4(value_head + 2 * vec8 + k);
  }
  int at = ((batch * capacity + slot) * kv_heads + kv_head) * HEAD_VEC8S + vec8;
  store_kv8(first_vec8 + cluster_lane() < HEAD_VEC8S, at, key, value);
}

void main() {
  int rest = cluster_index();
  if (rest < clusters) {
    int vec8 = unravel(rest, HEAD_VEC8S);
    combine(rest, vec8);
  } else if (rest < clusters + store_clusters) {
    rest -= clusters;
    int first_vec8 = 8 * unravel(rest, VEC8S_PER_LANE);
    int kv_head = unravel(rest, kv_heads);
    int slot = position_load(0);
    if (slot >= 0 && slot < capacity) store_row(rest, kv_head, slot, first_vec8);
  }
}
