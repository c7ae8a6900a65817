#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require
shared vec4 left_tile[272];  // [depth][row / 4]; padded against bank conflicts
shared vec4 right_tile[512];  // [depth][key / 4], then [key][column / 4]
shared vec4 weights[1088];  // scores, then weights: [key][row / 4]
shared vec4 rescales[16];
shared float part_values[128];  // maxima of a block, at the end sums: [part][row]

void main() {
  int lane = int(gl_LocalInvocationID.x);
  int batch = workgroup_index();
  int first_query = unravel(batch, (queries + 63) / 64) * 64;
  bool inside = batch * queries < rows;
  if (!inside) batch = 0;
  int head = unravel(batch, heads);
  int kv_head = divide(head, gqa_group);
  int first_key = HEAD_OFFSET(key_strides, batch, kv_head) / 4;
  int first_value = HEAD_OFFSET(value_strides, batch, kv_head) / 4;
  int key_stride = key_strides[3] / 4;
  int value_stride = value_strides[3] / 4;
  int end = is_causal != 0 ? min(first_query + 64, keys) : keys;
  float factor = scale != 0.0 ? scale : inversesqrt(float(depth));
  int depth_lane = lane % 4 * 4;
  int value_column = min(lane % 32, width / 4 - 1);
  int query_row0 = (HEAD_OFFSET(query_strides, batch, head) + min(first_query + lane / 4 + 0, queries - 1) * query_strides[3]) / 4;
  int query_row1 = (HEAD_OFFSET(query_strides, batch, head) + min(first_query + lane / 4 + 32, queries - 1) * query_strides[3]) / 4;
  int column_vec4 = lane % 16;  // the invocation's first group of four keys or columns
  int row_vec4 = lane / 16;     // its first group of four rows
  int own_row = lane % 64;   // the row whose weights it computes
  int own_part = lane / 64;
  float running_max = -INF;
  float own_sum = 0.0;
  vec4 total0_0 = vec4(0.0);
  vec4 total0_1 = vec4(0.0);
  vec4 total1_0 = vec4(0.0);
  vec4 total1_1 = vec4(0.0);
  vec4 total2_0 = vec4(0.0);
  vec4 total2_1 = vec4(0.0);
  vec4 total3_0 = vec4(0.0);
  vec4 total3_1 = vec4(0.0);
  vec4 total4_0 = vec4(0.0);
  vec4 total4_1 = vec4(0.0);
  vec4 total5_0 = vec4(0.0);
  vec4 total5_1 = vec4(0.0);
  vec4 total6_0 = vec4(0.0);
  vec4 total6_1 = vec4(0.0);
  vec4 total7_0 = vec4(0.0);
  vec4 total7_1 = vec4(0.0);
    vec4 query0 = query_load4(query_row0 + min(0 + depth_lane, depth - 4) / 4);
    if (0 + depth_lane >= depth) query0 = vec4(0.0);
    vec4 query1 = query_load4(query_row1 + min(0 + depth_lane, depth - 4) / 4);
    if (0 + depth_lane >= depth) query1 = vec4(0.0);
    vec4 key0 = key_load4(first_key + min(0 + lane / 4 + 0, keys - 1) * key_stride + min(0 + depth_lane, depth - 4) / 4);
    if (0 + depth_lane >= depth) key0 = vec4(0.0);
    vec4 key1 = key_load4(first_key + min(0 + lane / 4 + 32, keys - 1) * key_stride + min(0 + depth_lane, depth - 4) / 4);
    if (0 + depth_lane >= depth) key1 = vec4(0.0);

  vec4 value0 = vec4(0.0);
  vec4 value1 = vec4(0.0);
  vec4 value2 = vec4(0.0);
  vec4 value3 = vec4(0.0);
  for (int begin = 0; begin < end; begin += 64) {
    vec4 score0 = vec4(0.0);
    vec4 score1 = vec4(0.0);
    vec4 score2 = vec4(0.0);
    vec4 score3 = vec4(0.0);
    vec4 score4 = vec4(0.0);
    vec4 score5 = vec4(0.0);
    vec4 score6 = vec4(0.0);
    vec4 score7 = vec4(0.0);
    for (int d = 0; d < depth; d += 16) {
      barrier();
      [[unroll]] for (int s = 0; s < 4; s++) {
        left_tile[(depth_lane + s) * 17 + lane / 16 + 0][lane / 4 % 4] = query0[s];
        left_tile[(depth_lane + s) * 17 + lane / 16 + 8][lane / 4 % 4] = query1[s];
        right_tile[(depth_lane + s) * 17 + lane / 16 + 0][lane / 4 % 4] = key0[s];
        right_tile[(depth_lane + s) * 17 + lane / 16 + 8][lane / 4 % 4] = key1[s];
      }
      barrier();
      if (d + 16 < depth) {
    query0 = query_load4(query_row0 + min(d + 16 + depth_lane, depth - 4) / 4);
    if (d + 16 + depth_lane >= depth) query0 = vec4(0.0);
    query1 = query_load4(query_row1 + min(d + 16 + depth_lane, depth - 4) / 4);
    if (d + 16 + depth_lane >= depth) query1 = vec4(0.0);
    key0 = key_load4(first_key + min(begin + lane / 4 + 0, keys - 1) * key_stride + min(d + 16 + depth_lane, depth - 4) / 4);
    if (d + 16 + depth_lane >= depth) key0 = vec4(0.0);
    key1 = key_load4(first_key + min(begin + lane / 4 + 32, keys - 1) * key_stride + min(d + 16 + depth_lane, depth - 4) / 4);
    if (d + 16 + depth_lane >= depth) key1 = vec4(0.0);

      }
      [[unroll]] for (int s = 0; s < 16; s++) {
        vec4 b = right_tile[s * 17 + column_vec4];
        vec4 a0 = left_tile[s * 17 + row_vec4 + 0];
        vec4 a1 = left_tile[s * 17 + row_vec4 + 8];
        score0 += a0[0] * b;
        score1 += a0[1] * b;
        score2 += a0[2] * b;
        score3 += a0[3] * b;
        score4 += a1[0] * b;
        score5 += a1[1] * b;
        score6 += a1[2] * b;
        score7 += a1[3] * b;
      }
    }
    {
      int q = min(first_query + row_vec4 * 4 + 0, queries - 1);
      int visible_keys = is_causal != 0 ? min(q + 1, keys) : keys;
      int mask_row = batch * mask_strides[0] + head * mask_strides[1] + q * mask_strides[2];
      for (int k = 0; k < 4; k++) {
        int at = begin + column_vec4 * 4 + k;
        float s = score0[k] * factor + (has_mask != 0 ? attn_mask_load(mask_row + min(at, keys - 1) * mask_strides[3]) : 0.0);
        score0[k] = at < visible_keys ? s : -INF;
      }
    }
    {
      int q = min(first_query + row_vec4 * 4 + 1, queries - 1);
      int visible_keys = is_causal != 0 ? min(q + 1, keys) : keys;
      int mask_row = batch * mask_strides[0] + head * mask_strides[1] + q * mask_strides[2];
      for (int k = 0; k < 4; k++) {
        int at = begin + column_vec4 * 4 + k;
        float s = score1[k] * factor + (has_mask != 0 ? attn_mask_load(mask_row + min(at, keys - 1) * mask_strides[3]) : 0.0);
        score1[k] = at < visible_keys ? s : -INF;
      }
    }
    {
      int q = min(first_query + row_vec4 * 4 + 2, queries - 1);
      int visible_keys = is_causal != 0 ? min(q + 1, keys) : keys;
      int mask_row = batch * mask_strides[0] + head * mask_strides[1] + q * mask_strides[2];
      for (int k = 0; k < 4; k++) {
        int at = begin + column_vec4 * 4 + k;
        float s = score2[k] * factor + (has_mask != 0 ? attn_mask_load(mask_row + min(at, keys - 1) * mask_strides[3]) : 0.0);
        score2[k] = at < visible_keys ? s : -INF;
      }
    }
    {
      int q = min(first_query + row_vec4 * 4 + 3, queries - 1);
      int visible_keys = is_causal != 0 ? min(q + 1, keys) : keys;
      int mask_row = batch * mask_strides[0] + head * mask_strides[1] + q * mask_strides[2];
      for (int k = 0; k < 4; k++) {
        int at = begin + column_vec4 * 4 + k;
        float s = score3[k] * factor + (has_mask != 0 ? attn_mask_load(mask_row + min(at, keys - 1) * mask_strides[3]) : 0.0);
        score3[k] = at < visible_keys ? s : -INF;
      }
    }
    {
      int q = min(first_query + row_vec4 * 4 + 32, queries - 1);
      int visible_keys = is_causal != 0 ? min(q + 1, keys) : keys;
      int mask_row = batch * mask_strides[0] + head * mask_strides[1] + q * mask_strides[2];
      for (int k = 0; k < 4; k++) {
        int at = begin + column_vec4 * 4 + k;
        float s = score4[k] * factor + (has_mask != 0 ? attn_mask_load(mask_row + min(at, keys - 1) * mask_strides[3]) : 0.0);
        score4[k] = at < visible_keys ? s : -INF;
      }
    }
    {
      int q = min(first_query + row_vec4 * 4 + 33, queries - 1);
      int visible_keys = is_causal != 0 ? min(q + 1, keys) : keys;
      int mask_row = batch * mask_strides[0] + head * mask_strides[1] + q * mask_strides[2];
      for (int k = 0; k < 4; k++) {
        int at = begin + column_vec4 * 4 + k;
        float s = score5[k] * factor + (has_mask != 0 ? attn_mask_load(mask_row + min(at, keys - 1) * mask_strides[3]) : 0.0);
        score5[k] = at < visible_keys ? s : -INF;
      }
    }
    {
      int q = min(first_query + row_vec4 * 4 + 34, queries - 1);
      int visible_keys = is_causal != 0 ? min(q + 1, keys) : keys;
      int mask_row = batch * mask_strides[0] + head * mask_strides[1] + q * mask_strides[2];
      for (int k = 0; k < 4; k++) {
        int at = begin + column_vec4 * 4 + k;
        float s = score6[k] * factor + (has_mask != 0 ? attn_mask_load(mask_row + min(at, keys - 1) * mask_strides[3]) : 0.0);
        score6[k] = at < visible_keys ? s : -INF;
      }
    }
    {
      int q = min(first_query + row_vec4 * 4 + 35, queries - 1);
      int visible_keys = is_causal != 0 ? min(q + 1, keys) : keys;
      int mask_row = batch * mask_strides[0] + head * mask_strides[1] + q * mask_strides[2];
      for (int k = 0; k < 4; k++) {
        int at = begin + column_vec4 * 4 + k;
        float s = score7[k] * factor + (has_mask != 0 ? attn_mask_load(mask_row + min(at, keys - 1) * mask_strides[3]) : 0.0);
        score7[k] = at < visible_keys ? s : -INF;
      }
    }
    [[unroll]] for (int k = 0; k < 4; k++) {
      weights[(column_vec4 * 4 + k) * 17 + row_vec4 + 0] = vec4(score0[k], score1[k], score2[k], score3[k]);
      weights[(column_vec4 * 4 + k) * 17 + row_vec4 + 8] = vec4(score4[k], score5[k], score6[k], score7[k]);
    }
      value0 = value_load4(first_value + min(begin + (lane + 0) / 32, keys - 1) * value_stride + value_column);
      if (begin + (lane + 0) / 32 >= keys) value0 = vec4(0.0);
      value1 = value_load4(first_value + min(begin + (lane + 128) / 32, keys - 1) * value_stride + value_column);
      if (begin + (lane + 128) / 32 >= keys) value1 = vec4(0.0);
      value2 = value_load4(first_value + min(begin + (lane + 256) / 32, keys - 1) * value_stride + value_column);
      if (begin + (lane + 256) / 32 >= keys) value2 = vec4(0.0);
      value3 = value_load4(first_value + min(begin + (lane + 384) / 32, keys - 1) * value_stride + value_column);
      if (begin + (lane + 384) / 32 >= keys) value3 = vec4(0.0);

    barrier();
    float part_max = -INF;
    for (int k = 0; k < 32; k++) part_max = max(part_max, weights[(own_part * 32 + k) * 17 + own_row / 4][own_row % 4]);
    part_values[lane] = part_max;
    barrier();
    float next_max = running_max;
    for (int p = 0; p < 2; p++) next_max = max(next_max, part_values[p * 64 + own_row]);
    // All keys so far are masked: any finite base avoids NaN (-INF - -INF).
    float base = next_max == -INF ? 0.0 : next_max;
    float rescale = exp(running_max - base);
    running_max = next_max;
    own_sum *= rescale;
    if (own_part == 0) rescales[own_row / 4][own_row % 4] = rescale;
    for (int k = 0; k < 32; k++) {
      int at = (own_part * 32 + k) * 17 + own_row / 4;
      float weight = exp(weights[at][own_row % 4] - base);
      weights[at][own_row % 4] = weight;
      own_sum += weight;
    }
    int block_end = min(64, end - begin);
    for (int k = 0; k < block_end; k += 16) {
      barrier();
      if (k == 0) {
        vec4 rescale0 = rescales[row_vec4 + 0];
        vec4 rescale1 = rescales[row_vec4 + 8];
        total0_0 *= rescale0[0];
        total0_1 *= rescale0[0];
        total1_0 *= rescale0[1];
        total1_1 *= rescale0[1];
        total2_0 *= rescale0[2];
        total2_1 *= rescale0[2];
        total3_0 *= rescale0[3];
        total3_1 *= rescale0[3];
        total4_0 *= rescale1[0];
        total4_1 *= rescale1[0];
        total5_0 *= rescale1[1];
        total5_1 *= rescale1[1];
        total6_0 *= rescale1[2];
        total6_1 *= rescale1[2];
        total7_0 *= rescale1[3];
        total7_1 *= rescale1[3];
      }
      right_tile[lane + 0] = value0;
      right_tile[lane + 128] = value1;
      right_tile[lane + 256] = value2;
      right_tile[lane + 384] = value3;
      barrier();
      if (k + 16 < block_end) {
      value0 = value_load4(first_value + min(begin + k + 16 + (lane + 0) / 32, keys - 1) * value_stride + value_column);
      if (begin + k + 16 + (lane + 0) / 32 >= keys) value0 = vec4(0.0);
      value1 = value_load4(first_value + min(begin + k + 16 + (lane + 128) / 32, keys - 1) * value_stride + value_column);
      if (begin + k + 16 + (lane + 128) / 32 >= keys) value1 = vec4(0.0);
      value2 = value_load4(first_value + min(begin + k + 16 + (lane + 256) / 32, keys - 1) * value_stride + value_column);
      if (begin + k + 16 + (lane + 256) / 32 >= keys) value2 = vec4(0.0);
      value3 = value_load4(first_value + min(begin + k + 16 + (lane + 384) / 32, keys - 1) * value_stride + value_column);
      if (begin + k + 16 + (lane + 384) / 32 >= keys) value3 = vec4(0.0);

      } else {
    query0 = query_load4(query_row0 + min(0 + depth_lane, depth - 4) / 4);
    if (0 + depth_lane >= depth) query0 = vec4(0.0);
    query1 = query_load4(query_row1 + min(0 + depth_lane, depth - 4) / 4);
    if (0 + depth_lane >= depth) query1 = vec4(0.0);
    key0 = key_load4(first_key + min(begin + 64 + lane / 4 + 0, keys - 1) * key_stride + min(0 + depth_lane, depth - 4) / 4);
    if (0 + depth_lane >= depth) key0 = vec4(0.0);
    key1 = key_load4(first_key + min(begin + 64 + lane / 4 + 32, keys - 1) * key_stride + min(0 + depth_lane, depth - 4) / 4);
    if (0 + depth_lane >= depth) key1 = vec4(0.0);

      }
      [[unroll]] for (int s = 0; s < 16; s++) {
        vec4 b0 = right_tile[s * 32 + column_vec4 + 0];
        vec4 b1 = right_tile[s * 32 + column_vec4 + 16];
        vec4 a0 = weights[(k + s) * 17 + row_vec4 + 0];
        vec4 a1 = weights[(k + s) * 17 + row_vec4 + 8];
        total0_0 += a0[0] * b0;
        total0_1 += a0[0] * b1;
        total1_0 += a0[1] * b0;
        total1_1 += a0[1] * b1;
        total2_0 += a0[2] * b0;
        total2_1 += a0[2] * b1;
        total3_0 += a0[3] * b0;
        total3_1 += a0[3] * b1;
        total4_0 += a1[0] * b0;
        total4_1 += a1[0] * b1;
        total5_0 += a1[1] * b0;
        total5_1 += a1[1] * b1;
        total6_0 += a1[2] * b0;
        total6_1 += a1[2] * b1;
        total7_0 += a1[3] * b0;
        total7_1 += a1[3] * b1;
      }
    }
  }
  part_values[lane] = own_sum;
  barrier();
  if (!inside) return;
  // The maximum score contributes 1 to the sum; the sum is 0 only if all keys are masked, and then
  // y is 0.
  {
    int row = row_vec4 * 4 + 0;
    if (first_query + row < queries) {
      float sum = 0.0;
      for (int p = 0; p < 2; p++) sum += part_values[p * 64 + row];
      float inverse = 1.0 / (sum == 0.0 ? 1.0 : sum);
      int at = (HEAD_OFFSET(y_strides, batch, head) + (first_query + row) * y_strides[3]) / 4 + column_vec4;
      if (column_vec4 + 0 < width / 4) y_store4(at + 0, total0_0 * inverse);
      if (column_vec4 + 16 < width / 4) y_store4(at + 16, total0_1 * inverse);
    }
  }
  {
    int row = row_vec4 * 4 + 1;
    if (first_query + row < queries) {
      float sum = 0.0;
      for (int p = 0; p < 2; p++) sum += part_values[p * 64 + row];
      float inverse = 1.0 / (sum == 0.0 ? 1.0 : sum);
      int at = (HEAD_OFFSET(y_strides, batch, head) + (first_query + row) * y_strides[3]) / 4 + column_vec4;
      if (column_vec4 + 0 < width / 4) y_store4(at + 0, total1_0 * inverse);
      if (column_vec4 + 16 < width / 4) y_store4(at + 16, total1_1 * inverse);
    }
  }
  {
    int row = row_vec4 * 4 + 2;
    if (first_query + row < queries) {
      float sum = 0.0;
      for (int p = 0; p < 2; p++) sum += part_values[p * 64 + row];
      float inverse = 1.0 / (sum == 0.0 ? 1.0 : sum);
      int at = (HEAD_OFFSET(y_strides, batch, head) + (first_query + row) * y_strides[3]) / 4 + column_vec4;
      if (column_vec4 + 0 < width / 4) y_store4(at + 0, total2_0 * inverse);
      if (column_vec4 + 16 < width / 4) y_store4(at + 16, total2_1 * inverse);
    }
  }
  {
    int row = row_vec4 * 4 + 3;
    if (first_query + row < queries) {
      float sum = 0.0;
      for (int p = 0; p < 2; p++) sum += part_values[p * 64 + row];
      float inverse = 1.0 / (sum == 0.0 ? 1.0 : sum);
      int at = (HEAD_OFFSET(y_strides, batch, head) + (first_query + row) * y_strides[3]) / 4 + column_vec4;
      if (column_vec4 + 0 < width / 4) y_store4(at + 0, total3_0 * inverse);
      if (column_vec4 + 16 < width / 4) y_store4(at + 16, total3_1 * inverse);
    }
  }
  {
    int row = row_vec4 * 4 + 32;
    if (first_query + row < queries) {
      float sum = 0.0;
      for (int p = 0; p < 2; p++) sum += part_values[p * 64 + row];
      float inverse = 1.0 / (sum == 0.0 ? 1.0 : sum);
      int at = (HEAD_OFFSET(y_strides, batch, head) + (first_query + row) * y_strides[3]) / 4 + column_vec4;
      if (column_vec4 + 0 < width / 4) y_store4(at + 0, total4_0 * inverse);
      if (column_vec4 + 16 < width / 4) y_store4(at + 16, total4_1 * inverse);
    }
  }
  {
    int row = row_vec4 * 4 + 33;
    if (first_query + row < queries) {
      float sum = 0.0;
      for (int p = 0; p < 2; p++) sum += part_values[p * 64 + row];
      float inverse = 1.0 / (sum == 0.0 ? 1.0 : sum);
      int at = (HEAD_OFFSET(y_strides, batch, head) + (first_query + row) * y_strides[3]) / 4 + column_vec4;
      if (column_vec4 + 0 < width / 4) y_store4(at + 0, total5_0 * inverse);
      if (column_vec4 + 16 < width / 4) y_store4(at + 16, total5_1 * inverse);
    }
  }
  {
    int row = row_vec4 * 4 + 34;
    if (first_query + row < queries) {
      float sum = 0.0;
      for (int p = 0; p < 2; p++) sum += part_values[p * 64 + row];
      float inverse = 1.0 / (sum == 0.0 ? 1.0 : sum);
      int at = (HEAD_OFFSET(y_strides, batch, head) + (first_query + row) * y_strides[3]) / 4 + column_vec4;
      if (column_vec4 + 0 < width / 4) y_store4(at + 0, total6_0 * inverse);
      if (column_vec4 + 16 < width / 4) y_store4(at + 16, total6_1 * inverse);
    }
  }
  {
    int row = row_vec4 * 4 + 35;
    if (first_query + row < queries) {
      float sum = 0.0;
      for (int p = 0; p < 2; p++) sum += part_values[p * 64 + row];
      float inverse = 1.0 / (sum == 0.0 ? 1.0 : sum);
      int at = (HEAD_OFFSET(y_strides, batch, head) + (first_query + row) * y_strides[3]) / 4 + column_vec4;
      if (column_vec4 + 0 < width / 4) y_store4(at + 0, total7_0 * inverse);
      if (column_vec4 + 16 < width / 4) y_store4(at + 16, total7_1 * inverse);
    }
  }
}
