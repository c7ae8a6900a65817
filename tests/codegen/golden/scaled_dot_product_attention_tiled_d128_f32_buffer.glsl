#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require


void main() {
  int lane = int(gl_LocalInvocationID.x);
  int quad = lane / 4;
  int key_lane = lane % 4;
  int batch = workgroup_index();
  int first_query = unravel(batch, (queries + 31) / 32) * 32;
  bool inside = batch * queries < rows;
  if (!inside) batch = 0;
  int head = unravel(batch, heads);
  int kv_head = divide(head, gqa_group);
  int first_key = HEAD_OFFSET(key_strides, batch, kv_head) / 4 + min(lane % 32, depth / 4 - 1);
  int first_value = HEAD_OFFSET(value_strides, batch, kv_head) / 4 + min(lane % 32, width / 4 - 1);
  int key_stride = key_strides[3] / 4;
  int value_stride = value_strides[3] / 4;
  int end = is_causal != 0 ? min(first_query + 32, keys) : keys;
  float factor = scale != 0.0 ? scale : inversesqrt(float(depth));
  int q0 = min(first_query + quad + 0, queries - 1);
  int row0 = (HEAD_OFFSET(query_strides, batch, head) + q0 * query_strides[3]) / 4;
  int mask_row0 = batch * mask_strides[0] + head * mask_strides[1] + q0 * mask_strides[2];
  int visible_keys0 = is_causal != 0 ? min(q0 + 1, keys) : keys;
  float running_max0 = -INF;
  float sum0 = 0.0;
  vec4 total0_0 = vec4(0.0);
  vec4 total0_1 = vec4(0.0);
  vec4 total0_2 = vec4(0.0);
  vec4 total0_3 = vec4(0.0);
  vec4 total0_4 = vec4(0.0);
  vec4 total0_5 = vec4(0.0);
  vec4 total0_6 = vec4(0.0);
  vec4 total0_7 = vec4(0.0);
  int q1 = min(first_query + quad + 16, queries - 1);
  int row1 = (HEAD_OFFSET(query_strides, batch, head) + q1 * query_strides[3]) / 4;
  int mask_row1 = batch * mask_strides[0] + head * mask_strides[1] + q1 * mask_strides[2];
  int visible_keys1 = is_causal != 0 ? min(q1 + 1, keys) : keys;
  float running_max1 = -INF;
  float sum1 = 0.0;
  vec4 total1_0 = vec4(0.0);
  vec4 total1_1 = vec4(0.0);
  vec4 total1_2 = vec4(0.0);
  vec4 total1_3 = vec4(0.0);
  vec4 total1_4 = vec4(0.0);
  vec4 total1_5 = vec4(0.0);
  vec4 total1_6 = vec4(0.0);
  vec4 total1_7 = vec4(0.0);
  // This invocation's loads of a block: 32 vec4s per row, clamped to the row's
  // end.
  int key0 = (lane + 0) / 32;
  vec4 next0 = key_load4(first_key + min(key0, keys - 1) * key_stride);
  int key1 = (lane + 64) / 32;
  vec4 next1 = key_load4(first_key + min(key1, keys - 1) * key_stride);
  int key2 = (lane + 128) / 32;
  vec4 next2 = key_load4(first_key + min(key2, keys - 1) * key_stride);
  int key3 = (lane + 192) / 32;
  vec4 next3 = key_load4(first_key + min(key3, keys - 1) * key_stride);
  int key4 = (lane + 256) / 32;
  vec4 next4 = key_load4(first_key + min(key4, keys - 1) * key_stride);
  int key5 = (lane + 320) / 32;
  vec4 next5 = key_load4(first_key + min(key5, keys - 1) * key_stride);
  int key6 = (lane + 384) / 32;
  vec4 next6 = key_load4(first_key + min(key6, keys - 1) * key_stride);
  int key7 = (lane + 448) / 32;
  vec4 next7 = key_load4(first_key + min(key7, keys - 1) * key_stride);
  for (int begin = 0; begin < end; begin += 16) {
    barrier();
    tile[key0 * 33 + lane % 32] = next0;
    tile[key1 * 33 + lane % 32] = next1;
    tile[key2 * 33 + lane % 32] = next2;
    tile[key3 * 33 + lane % 32] = next3;
    tile[key4 * 33 + lane % 32] = next4;
    tile[key5 * 33 + lane % 32] = next5;
    tile[key6 * 33 + lane % 32] = next6;
    tile[key7 * 33 + lane % 32] = next7;
    barrier();
    next0 = value_load4(first_value + min(begin + key0, keys - 1) * value_stride);
    if (begin + key0 >= keys) next0 = vec4(0.0);
    next1 = value_load4(first_value + min(begin + key1, keys - 1) * value_stride);
    if (begin + key1 >= keys) next1 = vec4(0.0);
    next2 = value_load4(first_value + min(begin + key2, keys - 1) * value_stride);
    if (begin + key2 >= keys) next2 = vec4(0.0);
    next3 = value_load4(first_value + min(begin + key3, keys - 1) * value_stride);
    if (begin + key3 >= keys) next3 = vec4(0.0);
    next4 = value_load4(first_value + min(begin + key4, keys - 1) * value_stride);
    if (begin + key4 >= keys) next4 = vec4(0.0);
    next5 = value_load4(first_value + min(begin + key5, keys - 1) * value_stride);
    if (begin + key5 >= keys) next5 = vec4(0.0);
    next6 = value_load4(first_value + min(begin + key6, keys - 1) * value_stride);
    if (begin + key6 >= keys) next6 = vec4(0.0);
    next7 = value_load4(first_value + min(begin + key7, keys - 1) * value_stride);
    if (begin + key7 >= keys) next7 = vec4(0.0);
    for (int k = 0; k < 4; k++) {
      int at = begin + key_lane * 4 + k;
      float s = score0[k] * factor + (has_mask != 0 ? attn_mask_load(mask_row0 + min(at, keys - 1) * mask_strides[3]) : 0.0);
      score0[k] = at < visible_keys0 ? s : -INF;
    }
    store_scores(quad + 0, key_lane, score0);
    for (int k = 0; k < 4; k++) {
      int at = begin + key_lane * 4 + k;
      float s = score1[k] * factor + (has_mask != 0 ? attn_mask_load(mask_row1 + min(at, keys - 1) * mask_strides[3]) : 0.0);
      score1[k] = at < visible_keys1 ? s : -INF;
    }
    store_scores(quad + 16, key_lane, score1);
    barrier();
    tile[key0 * 33 + lane % 32] = next0;
    next0 = key_load4(first_key + min(begin + 16 + key0, keys - 1) * key_stride);
    tile[key1 * 33 + lane % 32] = next1;
    next1 = key_load4(first_key + min(begin + 16 + key1, keys - 1) * key_stride);
    tile[key2 * 33 + lane % 32] = next2;
    next2 = key_load4(first_key + min(begin + 16 + key2, keys - 1) * key_stride);
    tile[key3 * 33 + lane % 32] = next3;
    next3 = key_load4(first_key + min(begin + 16 + key3, keys - 1) * key_stride);
    tile[key4 * 33 + lane % 32] = next4;
    next4 = key_load4(first_key + min(begin + 16 + key4, keys - 1) * key_stride);
    tile[key5 * 33 + lane % 32] = next5;
    next5 = key_load4(first_key + min(begin + 16 + key5, keys - 1) * key_stride);
    tile[key6 * 33 + lane % 32] = next6;
    next6 = key_load4(first_key + min(begin + 16 + key6, keys - 1) * key_stride);
    tile[key7 * 33 + lane % 32] = next7;
    next7 = key_load4(first_key + min(begin + 16 + key7, keys - 1) * key_stride);
    barrier();
  }
  if (!inside) return;
  // The maximum score contributes 1 to the sum; the sum is 0 only if all keys are masked, and then
  // y is 0.
  if (first_query + quad + 0 < queries) {
    int at = (HEAD_OFFSET(y_strides, batch, head) + q0 * y_strides[3]) / 4 + key_lane;
    float inverse = 1.0 / (sum0 == 0.0 ? 1.0 : sum0);
    if (key_lane + 0 < width / 4) y_store4(at + 0, total0_0 * inverse);
    if (key_lane + 4 < width / 4) y_store4(at + 4, total0_1 * inverse);
    if (key_lane + 8 < width / 4) y_store4(at + 8, total0_2 * inverse);
    if (key_lane + 12 < width / 4) y_store4(at + 12, total0_3 * inverse);
    if (key_lane + 16 < width / 4) y_store4(at + 16, total0_4 * inverse);
    if (key_lane + 20 < width / 4) y_store4(at + 20, total0_5 * inverse);
    if (key_lane + 24 < width / 4) y_store4(at + 24, total0_6 * inverse);
    if (key_lane + 28 < width / 4) y_store4(at + 28, total0_7 * inverse);
  }
  if (first_query + quad + 16 < queries) {
    int at = (HEAD_OFFSET(y_strides, batch, head) + q1 * y_strides[3]) / 4 + key_lane;
    float inverse = 1.0 / (sum1 == 0.0 ? 1.0 : sum1);
    if (key_lane + 0 < width / 4) y_store4(at + 0, total1_0 * inverse);
    if (key_lane + 4 < width / 4) y_store4(at + 4, total1_1 * inverse);
    if (key_lane + 8 < width / 4) y_store4(at + 8, total1_2 * inverse);
    if (key_lane + 12 < width / 4) y_store4(at + 12, total1_3 * inverse);
    if (key_lane + 16 < width / 4) y_store4(at + 16, total1_4 * inverse);
    if (key_lane + 20 < width / 4) y_store4(at + 20, total1_5 * inverse);
    if (key_lane + 24 < width / 4) y_store4(at + 24, total1_6 * inverse);
    if (key_lane + 28 < width / 4) y_store4(at + 28, total1_7 * inverse);
  }
}
