#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require

// Combines the splits of columns 8 `vec8` to 8 `vec8` + 7 of a query head.
void combine(int head, int vec8) {
  int step = 2 * HEAD_VEC8S + 2;
  int first = head * splits * step;
  float maximum = -INF;
  for (int k = cluster_lane(); k < splits; k += 8) maximum = max(maximum, partials_load4(first + k * step + 2 * HEAD_VEC8S).x);
  maximum = cluster_max(maximum);
  // No row is visible: any finite maximum avoids NaN.
  if (maximum == -INF) maximum = 0.0;
  float sum = 0.0;
  vec4 low = vec4(0.0);
  vec4 high = vec4(0.0);
  for (int k = cluster_lane(); k < splits; k += 8) {
    int at = first + k * step;
    vec4 max_and_sum = partials_load4(at + 2 * HEAD_VEC8S);
    float weight = exp(max_and_sum.x - maximum);
    sum += weight * max_and_sum.y;
    low += weight * partials_load4(at + 2 * vec8);
    high += weight * partials_load4(at + 2 * vec8 + 1);
  }
  sum = cluster_sum(sum);
  for (int k = 0; k < 4; k++) low[k] = cluster_sum(low[k]);
  for (int k = 0; k < 4; k++) high[k] = cluster_sum(high[k]);
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
