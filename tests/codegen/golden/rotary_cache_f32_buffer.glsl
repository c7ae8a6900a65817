#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// Deinterleaves eight elements: the even ones to a, the odd ones to b.
void unzip(inout vec4 a, inout vec4 b) {
  vec4 even = vec4(a.xz, b.xz);
  b = vec4(a.yw, b.yw);
  a = even;
}

// Inverse of unzip().
void zip(inout vec4 a, inout vec4 b) {
  vec4 low = vec4(a.x, b.x, a.y, b.y);
  b = vec4(a.z, b.z, a.w, b.w);
  a = low;
}

void main() {
  int i = flat_index();
  if (i >= n) return;
  int quad = unravel(i, quads);
  int head_row = i * 2 * quads;
  int head = unravel(i, heads + 2 * kv_heads);
  int row = i;  // row of x
  int s = unravel(i, steps);
  int slot = position_load(0) + s;
  int first = interleaved != 0 ? 2 * quad : quad;
  int second = interleaved != 0 ? 2 * quad + 1 : quad + quads;
  vec4 a = x_load4(head_row + first);
  vec4 b = x_load4(head_row + second);
  bool is_query = head < heads;
  bool is_value = head >= heads + kv_heads;
  if (has_norms != 0 && !is_value) {
    vec4 squares = vec4(0.0);
    for (int k = 0; k < 2 * quads; k++) {
      vec4 v = x_load4(head_row + k);
      squares += v * v;
    }
    float scale = inversesqrt(dot(squares, vec4(1.0)) / float(8 * quads) + eps);
    a *= scale * (is_query ? query_norm_load4(first) : key_norm_load4(first));
    b *= scale * (is_query ? query_norm_load4(second) : key_norm_load4(second));
  }
  if (!is_value) {
    if (interleaved != 0) unzip(a, b);
    int angle = clamp(slot, 0, context - 1) * quads + quad;
    vec4 c = cos_load4(angle);
    vec4 s_of_pair = sin_load4(angle);
    vec4 rotated = a * c - b * s_of_pair;
    b = b * c + a * s_of_pair;
    a = rotated;
    if (interleaved != 0) zip(a, b);
  }
  if (is_query) {
    int to = (row * heads + head) * 2 * quads;
    query_store4(to + first, a);
    query_store4(to + second, b);
    return;
  }
  if (slot < 0 || slot >= rows) return;
  int to = ((i * rows + slot) * kv_heads + (head - heads) % kv_heads) * 2 * quads;
  if (is_value) {
    new_values_store4(to + first, a);
    new_values_store4(to + second, b);
  } else {
    new_keys_store4(to + first, a);
    new_keys_store4(to + second, b);
  }
}
