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
  for (int begin = begin_at; begin < end; begin += 16) {
    barrier();
    for (int load = lane; load < 512; load += 64) {
      int at = begin + load / 32;
      tile[load / 32 * 33 + lane % 32] = at < end ? keys_load4(cache + at * step + column) : vec4(0.0);
    }

    barrier();
    for (int k = 0; k < 4; k++) {
      int at = begin + key_lane * 4 + k;
      bool visible = at <= position0 && at < capacity && (window == 0 || at > position0 - window);
      score0[k] = visible ? capped(score0[k] * factor) : -INF;
    }
    store_scores(quad + 0, key_lane, score0);
    for (int k = 0; k < 4; k++) {
      int at = begin + key_lane * 4 + k;
      bool visible = at <= position1 && at < capacity && (window == 0 || at > position1 - window);
      score1[k] = visible ? capped(score1[k] * factor) : -INF;
    }
    store_scores(quad + 16, key_lane, score1);
    barrier();
    for (int load = lane; load < 512; load += 64) {
      int at = begin + load / 32;
      tile[load / 32 * 33 + lane % 32] = at < end ? values_load4(cache + at * step + column) : vec4(0.0);
    }

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
