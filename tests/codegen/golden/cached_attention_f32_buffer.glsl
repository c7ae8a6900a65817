#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

shared vec4 query_row[LANES];
shared vec4 totals[LANES];
shared float weights[LANES];

void main() {
  int row_index = workgroup_index();
  bool inside = row_index < rows;
  int rest = inside ? row_index : 0;
  int row = rest * HEAD_VEC4S;
  int inner_index = unravel(rest, heads_first != 0 ? queries : heads);
  int outer_index = unravel(rest, heads_first != 0 ? heads : queries);
  int head = divide(heads_first != 0 ? outer_index : inner_index, gqa_group);
  int query = heads_first != 0 ? inner_index : outer_index;
  int step = heads_first != 0 ? HEAD_VEC4S : kv_heads * HEAD_VEC4S;
  int cache = (heads_first != 0 ? (rest * kv_heads + head) * capacity : rest * capacity * kv_heads + head) * HEAD_VEC4S;
  int position = position_count == 1 ? positions_load(0) + query : positions_load(query);
  int end = min(position, capacity - 1) + 1;
  int begin = window > 0 ? max(position - window + 1, 0) : 0;
  int groups = divide(LANES, HEAD_VEC4S);
  int group = lane();
  int column = unravel(group, HEAD_VEC4S);
  if (lane() < HEAD_VEC4S) query_row[lane()] = query_load4(row + lane()) * (scale != 0.0 ? scale : inversesqrt(float(4 * HEAD_VEC4S)));
  barrier();
  float running_max = -INF;
  float sum = 0.0;
  vec4 total = vec4(0.0);
  for (int block = begin; block < end; block += LANES) {
    float score = -INF;
    if (block + lane() < end) {
      vec4 products = vec4(0.0);
      for (int c = 0; c < HEAD_VEC4S; c++) products += query_row[c] * keys_load4(cache + (block + lane()) * step + c);
      score = capped(dot(products, vec4(1.0)));
    }
    float next_max = max(running_max, workgroup_max(score));
    float rescale = exp(running_max - next_max);
    weights[lane()] = exp(score - next_max);
    sum = sum * rescale + workgroup_sum(weights[lane()]);
    total *= rescale;
    running_max = next_max;
    int count = group < groups ? min(LANES, end - block) : 0;
    for (int k = group; k < count; k += groups) total += weights[k] * values_load4(cache + (block + k) * step + column);
  }
  totals[lane()] = total;
  barrier();
  if (inside && lane() < HEAD_VEC4S) {
    vec4 sum_of_groups = vec4(0.0);
    for (int g = 0; g < groups; g++) sum_of_groups += totals[g * HEAD_VEC4S + lane()];
    y_store4(row + lane(), sum_of_groups / (sum == 0.0 ? 1.0 : sum));
  }
}
