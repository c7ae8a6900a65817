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
  int head = unravel(batch, heads);
  bool inside = batch * heads * queries < rows;
  if (!inside) batch = 0;
  int kv_head = divide(head, gqa_group);
  int step = heads_first != 0 ? head_vec4s : kv_heads * head_vec4s;
  int cache = (heads_first != 0 ? (batch * kv_heads + kv_head) * capacity : batch * capacity * kv_heads + kv_head) * head_vec4s;
  int begin_at = window > 0 ? max(positions_load(0) + first_query - window + 1, 0) : 0;
  int end = min(positions_load(0) + min(first_query + 32, queries), capacity);
  float factor = scale != 0.0 ? scale : inversesqrt(float(4 * head_vec4s));
  int q0 = min(first_query + quad + 0, queries - 1);
  int row0 = (heads_first != 0 ? (batch * heads + head) * queries + q0 : (batch * queries + q0) * heads + head) * head_vec4s;
  int position0 = positions_load(0) + q0;
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
  int row1 = (heads_first != 0 ? (batch * heads + head) * queries + q1 : (batch * queries + q1) * heads + head) * head_vec4s;
  int position1 = positions_load(0) + q1;
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
  int column = min(lane % 32, head_vec4s - 1);
  // This invocation's loads of a block: 32 vec4s per row, clamped to the row's
  // end.
  int key0 = (lane + 0) / 32;
  vec4 next0 = keys_load4(cache + min(begin_at + key0, capacity - 1) * step + column);
  int key1 = (lane + 64) / 32;
  vec4 next1 = keys_load4(cache + min(begin_at + key1, capacity - 1) * step + column);
  int key2 = (lane + 128) / 32;
  vec4 next2 = keys_load4(cache + min(begin_at + key2, capacity - 1) * step + column);
  int key3 = (lane + 192) / 32;
  vec4 next3 = keys_load4(cache + min(begin_at + key3, capacity - 1) * step + column);
  int key4 = (lane + 256) / 32;
  vec4 next4 = keys_load4(cache + min(begin_at + key4, capacity - 1) * step + column);
  int key5 = (lane + 320) / 32;
  vec4 next5 = keys_load4(cache + min(begin_at + key5, capacity - 1) * step + column);
  int key6 = (lane + 384) / 32;
  vec4 next6 = keys_load4(cache + min(begin_at + key6, capacity - 1) * step + column);
  int key7 = (lane + 448) / 32;
  vec4 next7 = keys_load4(cache + min(begin_at + key7, capacity - 1) * step + column);
  for (int begin = begin_at; begin < end; begin += 16) {
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
    next0 = values_load4(cache + min(begin + key0, capacity - 1) * step + column);
    // Rows beyond `end` are uninitialized: 0 * NaN would be NaN.
    if (begin + key0 >= end) next0 = vec4(0.0);
    next1 = values_load4(cache + min(begin + key1, capacity - 1) * step + column);
    // Rows beyond `end` are uninitialized: 0 * NaN would be NaN.
    if (begin + key1 >= end) next1 = vec4(0.0);
    next2 = values_load4(cache + min(begin + key2, capacity - 1) * step + column);
    // Rows beyond `end` are uninitialized: 0 * NaN would be NaN.
    if (begin + key2 >= end) next2 = vec4(0.0);
    next3 = values_load4(cache + min(begin + key3, capacity - 1) * step + column);
    // Rows beyond `end` are uninitialized: 0 * NaN would be NaN.
    if (begin + key3 >= end) next3 = vec4(0.0);
    next4 = values_load4(cache + min(begin + key4, capacity - 1) * step + column);
    // Rows beyond `end` are uninitialized: 0 * NaN would be NaN.
    if (begin + key4 >= end) next4 = vec4(0.0);
    next5 = values_load4(cache + min(begin + key5, capacity - 1) * step + column);
    // Rows beyond `end` are uninitialized: 0 * NaN would be NaN.
    if (begin + key5 >= end) next5 = vec4(0.0);
    next6 = values_load4(cache + min(begin + key6, capacity - 1) * step + column);
    // Rows beyond `end` are uninitialized: 0 * NaN would be NaN.
    if (begin + key6 >= end) next6 = vec4(0.0);
    next7 = values_load4(cache + min(begin + key7, capacity - 1) * step + column);
    // Rows beyond `end` are uninitialized: 0 * NaN would be NaN.
    if (begin + key7 >= end) next7 = vec4(0.0);
    for (int k = 0; k < 4; k++) {
      int at = begin + key_lane * 4 + k;
      bool visible = at <= position0 && at < capacity && (window == 0 || at > position0 - window);
      score0[k] = visible ? capped(score0[k] * factor) : -INF;
    }
    scores[(quad + 0) * 5 + key_lane] = score0;
    for (int k = 0; k < 4; k++) {
      int at = begin + key_lane * 4 + k;
      bool visible = at <= position1 && at < capacity && (window == 0 || at > position1 - window);
      score1[k] = visible ? capped(score1[k] * factor) : -INF;
    }
    scores[(quad + 16) * 5 + key_lane] = score1;
    barrier();
    tile[key0 * 33 + lane % 32] = next0;
    next0 = keys_load4(cache + min(begin + 16 + key0, capacity - 1) * step + column);
    tile[key1 * 33 + lane % 32] = next1;
    next1 = keys_load4(cache + min(begin + 16 + key1, capacity - 1) * step + column);
    tile[key2 * 33 + lane % 32] = next2;
    next2 = keys_load4(cache + min(begin + 16 + key2, capacity - 1) * step + column);
    tile[key3 * 33 + lane % 32] = next3;
    next3 = keys_load4(cache + min(begin + 16 + key3, capacity - 1) * step + column);
    tile[key4 * 33 + lane % 32] = next4;
    next4 = keys_load4(cache + min(begin + 16 + key4, capacity - 1) * step + column);
    tile[key5 * 33 + lane % 32] = next5;
    next5 = keys_load4(cache + min(begin + 16 + key5, capacity - 1) * step + column);
    tile[key6 * 33 + lane % 32] = next6;
    next6 = keys_load4(cache + min(begin + 16 + key6, capacity - 1) * step + column);
    tile[key7 * 33 + lane % 32] = next7;
    next7 = keys_load4(cache + min(begin + 16 + key7, capacity - 1) * step + column);
    barrier();
  }
  if (!inside) return;
  // The maximum score contributes 1 to the sum; the sum is 0 only if no key is visible, and then y
  // is 0.
  if (first_query + quad + 0 < queries) {
    float inverse = 1.0 / (sum0 == 0.0 ? 1.0 : sum0);
    if (key_lane + 0 < head_vec4s) y_store4(row0 + key_lane + 0, total0_0 * inverse);
    if (key_lane + 4 < head_vec4s) y_store4(row0 + key_lane + 4, total0_1 * inverse);
    if (key_lane + 8 < head_vec4s) y_store4(row0 + key_lane + 8, total0_2 * inverse);
    if (key_lane + 12 < head_vec4s) y_store4(row0 + key_lane + 12, total0_3 * inverse);
    if (key_lane + 16 < head_vec4s) y_store4(row0 + key_lane + 16, total0_4 * inverse);
    if (key_lane + 20 < head_vec4s) y_store4(row0 + key_lane + 20, total0_5 * inverse);
    if (key_lane + 24 < head_vec4s) y_store4(row0 + key_lane + 24, total0_6 * inverse);
    if (key_lane + 28 < head_vec4s) y_store4(row0 + key_lane + 28, total0_7 * inverse);
  }
  if (first_query + quad + 16 < queries) {
    float inverse = 1.0 / (sum1 == 0.0 ? 1.0 : sum1);
    if (key_lane + 0 < head_vec4s) y_store4(row1 + key_lane + 0, total1_0 * inverse);
    if (key_lane + 4 < head_vec4s) y_store4(row1 + key_lane + 4, total1_1 * inverse);
    if (key_lane + 8 < head_vec4s) y_store4(row1 + key_lane + 8, total1_2 * inverse);
    if (key_lane + 12 < head_vec4s) y_store4(row1 + key_lane + 12, total1_3 * inverse);
    if (key_lane + 16 < head_vec4s) y_store4(row1 + key_lane + 16, total1_4 * inverse);
    if (key_lane + 20 < head_vec4s) y_store4(row1 + key_lane + 20, total1_5 * inverse);
    if (key_lane + 24 < head_vec4s) y_store4(row1 + key_lane + 24, total1_6 * inverse);
    if (key_lane + 28 < head_vec4s) y_store4(row1 + key_lane + 28, total1_7 * inverse);
  }
}
