#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// Elements 0, 2, 4 and 6 of eight in a, the others in b.
void unzip(inout vec4 a, inout vec4 b) {
  vec4 even = vec4(a.xz, b.xz);
  b = vec4(a.yw, b.yw);
  a = even;
}

// The way back.
void zip(inout vec4 a, inout vec4 b) {
  vec4 low = vec4(a.x, b.x, a.y, b.y);
  b = vec4(a.z, b.z, a.w, b.w);
  a = low;
}

void main() {
  int i = flat_index();
  if (i >= n) return;
  int quad = take(i, quads);
  int own_row = i * 2 * quads;
  int head = take(i, heads + 2 * cached);
  int row = i;  // of x
  int s = take(i, steps);
  int place = position_at(0) + s;
  int first = interleaved != 0 ? 2 * quad : quad;
  int second = interleaved != 0 ? 2 * quad + 1 : quad + quads;
  vec4 a = x_at4(own_row + first);
  vec4 b = x_at4(own_row + second);
  bool asks = head < heads;
  bool is_value = head >= heads + cached;
  if (has_norms != 0 && !is_value) {
    vec4 squares = vec4(0.0);
    for (int k = 0; k < 2 * quads; k++) {
      vec4 v = x_at4(own_row + k);
      squares += v * v;
    }
    float scale = inversesqrt(dot(squares, vec4(1.0)) / float(8 * quads) + eps);
    a *= scale * (asks ? query_norm_at4(first) : key_norm_at4(first));
    b *= scale * (asks ? query_norm_at4(second) : key_norm_at4(second));
  }
  if (!is_value) {
    if (interleaved != 0) unzip(a, b);
    int angle = clamp(place, 0, context - 1) * quads + quad;
    vec4 c = cos_at4(angle);
    vec4 s_of_pair = sin_at4(angle);
    vec4 turned = a * c - b * s_of_pair;
    b = b * c + a * s_of_pair;
    a = turned;
    if (interleaved != 0) zip(a, b);
  }
  if (asks) {
    int to = (row * heads + head) * 2 * quads;
    query_put4(to + first, a);
    query_put4(to + second, b);
    return;
  }
  if (place < 0 || place >= rows) return;
  int to = ((i * rows + place) * cached + (head - heads) % cached) * 2 * quads;
  if (is_value) {
    new_values_put4(to + first, a);
    new_values_put4(to + second, b);
  } else {
    new_keys_put4(to + first, a);
    new_keys_put4(to + second, b);
  }
}
