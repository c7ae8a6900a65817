#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int group = unravel(i, (HEAD_VEC8S + 7) / 8);
  int head_row = i * 2 * HEAD_VEC8S;
  int head = unravel(i, heads + 2 * kv_heads);
  int row = i;  // row of x
  int slot = position_load(0) + unravel(i, steps);
  bool is_query = head < heads;
  bool is_value = head >= heads + kv_heads;
  int begin = 8 * group;
  int end = min(begin + 8, HEAD_VEC8S);
  if (!is_query && (slot < 0 || slot >= rows)) return;

  float scale = 1.0;
  if (has_norms != 0 && !is_value) {
    float squares = 0.0;
    for (int k = 0; k < 2 * HEAD_VEC8S; k++) squares += dot(x_load4(head_row + k), x_load4(head_row + k));
    scale = inversesqrt(squares / float(8 * HEAD_VEC8S) + eps);
  }
  int angles = clamp(slot, 0, context - 1) * HEAD_VEC8S;
  int to = is_query ? (row * heads + head) * HEAD_VEC8S : ((i * rows + slot) * kv_heads + (head - heads) % kv_heads) * HEAD_VEC8S;
  float maximum = 0.0;
  for (int pass = is_query || !KV_HAS_SCALES ? 1 : 0; pass < 2; pass++) {
    for (int k = begin; k < end; k++) {
      vec4 v[2];
      for (int part = 0; part < 2; part++) {
        int index4 = 2 * k + part;
        v[part] = is_value ? x_load4(head_row + index4) : rotated(head_row, index4, angles, is_query) * scale;
      }
      if (pass == 0) {
        maximum = max(maximum, max_magnitude(v[0], v[1]));
      } else if (is_query) {
        query_store4(2 * (to + k), v[0]);
        query_store4(2 * (to + k) + 1, v[1]);
      } else {
        uvec4 words = kv_encode8(v[0], v[1], maximum);
        if (is_value) new_values_store8_words(to + k, words, maximum);
        if (!is_value) new_keys_store8_words(to + k, words, maximum);
      }
    }
  }
}
