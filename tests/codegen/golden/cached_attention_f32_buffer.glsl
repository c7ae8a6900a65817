#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

shared vec4 own_row[LANES];
shared vec4 totals[LANES];
shared float weights[LANES];

void main() {
  int number = workgroup_number();
  bool inside = number < rows;
  int rest = inside ? number : 0;
  int row = rest * FOURS;
  int second = take(rest, heads_first != 0 ? queries : heads);
  int first = take(rest, heads_first != 0 ? heads : queries);
  int head = divide(heads_first != 0 ? first : second, sharing);
  int query = heads_first != 0 ? second : first;
  int step = heads_first != 0 ? FOURS : cached_heads * FOURS;
  int cache = (heads_first != 0 ? (rest * cached_heads + head) * capacity : rest * capacity * cached_heads + head) * FOURS;
  int position = given == 1 ? positions_at(0) + query : positions_at(query);
  int end = min(position, capacity - 1) + 1;
  int begin = window > 0 ? max(position - window + 1, 0) : 0;
  int groups = divide(LANES, FOURS);
  int group = lane();
  int column = take(group, FOURS);
  if (lane() < FOURS) own_row[lane()] = query_at4(row + lane()) * (scale != 0.0 ? scale : inversesqrt(float(4 * FOURS)));
  barrier();
  float top = -INF;
  float sum = 0.0;
  vec4 total = vec4(0.0);
  for (int block = begin; block < end; block += LANES) {
    float score = -INF;
    if (block + lane() < end) {
      vec4 products = vec4(0.0);
      for (int c = 0; c < FOURS; c++) products += own_row[c] * keys_at4(cache + (block + lane()) * step + c);
      score = capped(dot(products, vec4(1.0)));
    }
    float next_top = max(top, greatest_of(score));
    float shrink = exp(top - next_top);
    weights[lane()] = exp(score - next_top);
    sum = sum * shrink + sum_of(weights[lane()]);
    total *= shrink;
    top = next_top;
    int count = group < groups ? min(LANES, end - block) : 0;
    for (int k = group; k < count; k += groups) total += weights[k] * values_at4(cache + (block + k) * step + column);
  }
  totals[lane()] = total;
  barrier();
  if (inside && lane() < FOURS) {
    vec4 all = vec4(0.0);
    for (int g = 0; g < groups; g++) all += totals[g * FOURS + lane()];
    y_put4(row + lane(), all / (sum == 0.0 ? 1.0 : sum));
  }
}
