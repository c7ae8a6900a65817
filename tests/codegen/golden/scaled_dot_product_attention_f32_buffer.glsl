#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

shared float weights[LANES];

float score(int query, int key, int mask_index) {
  float sum = 0.0;
  for (int e = 0; e < depth; e++) sum += query_load(query + e) * key_load(key + e);
  return sum * (scale != 0.0 ? scale : inversesqrt(float(depth))) + (has_mask != 0 ? attn_mask_load(mask_index) : 0.0);
}

void main() {
  int unclamped_row = workgroup_index();
  int row = min(unclamped_row, rows - 1);
  int batch = row;
  int q = unravel(batch, queries);
  int head = unravel(batch, heads);
  int kv_head = divide(head, gqa_group);
  int query = HEAD_OFFSET(query_strides, batch, head) + q * query_strides[3];
  int first_key = HEAD_OFFSET(key_strides, batch, kv_head);
  int first_value = HEAD_OFFSET(value_strides, batch, kv_head);
  int y_row = HEAD_OFFSET(y_strides, batch, head) + q * y_strides[3];
  int mask_row = batch * mask_strides[0] + head * mask_strides[1] + q * mask_strides[2];
  int visible_keys = is_causal != 0 ? min(q + 1, keys) : keys;
  for (int first = 0; first < width; first += 4 * LANES) {
    int column = first + lane();
    vec4 total = vec4(0.0);
    float running_max = -INF;
    float sum = 0.0;
    for (int begin = 0; begin < visible_keys; begin += LANES) {
      int own_key = begin + lane();
      float own_score = own_key < visible_keys ? score(query, first_key + own_key * key_strides[3], mask_row + own_key * mask_strides[3]) : -INF;
      float next_max = max(running_max, workgroup_max(own_score));
      // All keys so far are masked: any finite base avoids NaN (-INF - -INF).
      float base = next_max == -INF ? 0.0 : next_max;
      weights[lane()] = exp(own_score - base);
      float rescale = exp(running_max - base);
      sum = sum * rescale + workgroup_sum(weights[lane()]);
      total *= rescale;
      running_max = next_max;
      for (int k = 0; k < min(LANES, visible_keys - begin); k++) {
        int value = first_value + (begin + k) * value_strides[3];
        for (int j = 0; j < 4; j++) {
          int at = column + j * LANES;
          if (at < width) total[j] += weights[k] * value_load(value + at);
        }
      }
    }
    for (int j = 0; j < 4; j++) {
      int at = column + j * LANES;
      // The maximum score contributes 1 to the sum; the sum is 0 only if all keys are masked, and
      // then y is 0.
      if (at < width && unclamped_row == row) y_store(y_row + at, total[j] / (sum == 0.0 ? 1.0 : sum));
    }
  }
}
