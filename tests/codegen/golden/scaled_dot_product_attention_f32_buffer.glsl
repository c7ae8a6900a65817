#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

shared float weights[LANES];

float score(int row, int first_key, int key, int mask_row) {
  float sum = 0.0;
  for (int e = 0; e < depth; e++) sum += query_at(row * depth + e) * key_at((first_key + key) * depth + e);
  return sum * (scale != 0.0 ? scale : inversesqrt(float(depth))) + (has_mask != 0 ? attn_mask_at(mask_row + key * mask_steps[3]) : 0.0);
}

void main() {
  int number = workgroup_number();
  int row = min(number, rows - 1);
  int batch = row;
  int q = take(batch, queries);
  int first_key = divide(batch, sharing) * keys;
  int outer = batch;
  int head = take(outer, heads);
  int mask_row = outer * mask_steps[0] + head * mask_steps[1] + q * mask_steps[2];
  int seen = is_causal != 0 ? min(q + 1, keys) : keys;
  for (int first = 0; first < width; first += 4 * LANES) {
    int column = first + lane();
    vec4 total = vec4(0.0);
    float top = -INF;
    float sum = 0.0;
    for (int begin = 0; begin < seen; begin += LANES) {
      float mine = begin + lane() < seen ? score(row, first_key, begin + lane(), mask_row) : -INF;
      float next_top = max(top, greatest_of(mine));
      // Nothing but masked keys so far: any finite number will do.
      float base = next_top == -INF ? 0.0 : next_top;
      weights[lane()] = exp(mine - base);
      float shrink = exp(top - base);
      sum = sum * shrink + sum_of(weights[lane()]);
      total *= shrink;
      top = next_top;
      for (int k = 0; k < min(LANES, seen - begin); k++) {
        int value = (first_key + begin + k) * width;
        for (int part = 0; part < 4; part++) {
          int at = column + part * LANES;
          if (at < width) total[part] += weights[k] * value_at(value + at);
        }
      }
    }
    for (int part = 0; part < 4; part++) {
      int at = column + part * LANES;
      // The greatest score alone adds 1 to the sum, which is 0 only where every key is masked: then so is y.
      if (at < width && number == row) y_put(row * width + at, total[part] / (sum == 0.0 ? 1.0 : sum));
    }
  }
}
