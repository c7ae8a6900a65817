#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

shared float weights[LANES];

float score(int query, int key, int mask_at) {
  float sum = 0.0;
  for (int e = 0; e < depth; e++) sum += query_at(query + e) * key_at(key + e);
  return sum * (scale != 0.0 ? scale : inversesqrt(float(depth))) + (has_mask != 0 ? attn_mask_at(mask_at) : 0.0);
}

void main() {
  int number = workgroup_number();
  int row = min(number, rows - 1);
  int batch = row;
  int q = take(batch, queries);
  int head = take(batch, heads);
  int shared_head = divide(head, sharing);
  int query = PLACE(query_steps, batch, head) + q * query_steps[3];
  int first_key = PLACE(key_steps, batch, shared_head);
  int first_value = PLACE(value_steps, batch, shared_head);
  int y_row = PLACE(y_steps, batch, head) + q * y_steps[3];
  int mask_row = batch * mask_steps[0] + head * mask_steps[1] + q * mask_steps[2];
  int seen = is_causal != 0 ? min(q + 1, keys) : keys;
  for (int first = 0; first < width; first += 4 * LANES) {
    int column = first + lane();
    vec4 total = vec4(0.0);
    float top = -INF;
    float sum = 0.0;
    for (int begin = 0; begin < seen; begin += LANES) {
      int own = begin + lane();
      float mine = own < seen ? score(query, first_key + own * key_steps[3], mask_row + own * mask_steps[3]) : -INF;
      float next_top = max(top, greatest_of(mine));
      // Nothing but masked keys so far: any finite number will do.
      float base = next_top == -INF ? 0.0 : next_top;
      weights[lane()] = exp(mine - base);
      float shrink = exp(top - base);
      sum = sum * shrink + sum_of(weights[lane()]);
      total *= shrink;
      top = next_top;
      for (int k = 0; k < min(LANES, seen - begin); k++) {
        int value = first_value + (begin + k) * value_steps[3];
        for (int part = 0; part < 4; part++) {
          int at = column + part * LANES;
          if (at < width) total[part] += weights[k] * value_at(value + at);
        }
      }
    }
    for (int part = 0; part < 4; part++) {
      int at = column + part * LANES;
      // The greatest score alone adds 1 to the sum, which is 0 only where every key is masked: then so is y.
      if (at < width && number == row) y_put(y_row + at, total[part] / (sum == 0.0 ? 1.0 : sum));
    }
  }
}
