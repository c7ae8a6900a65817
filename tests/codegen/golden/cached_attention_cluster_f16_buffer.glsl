#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_shader_subgroup_shuffle : require

const int OWN = (FOURS + 7) / 8;

void main() {
  int number = cluster_number();
  if (number >= rows) return;
  int rest = number;
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
  vec4 own_row[OWN];
  vec4 total[OWN];
  for (int i = 0; i < OWN; i++) {
    own_row[i] = query_at4(row + min(cluster_lane() + 8 * i, FOURS - 1)) * (scale != 0.0 ? scale : inversesqrt(float(4 * FOURS)));
    total[i] = vec4(0.0);
  }
  float top = -INF;
  float sum = 0.0;
  for (int block = begin; block < end; block += 8) {
    int key = cache + min(block + cluster_lane(), end - 1) * step;
    vec4 products = vec4(0.0);
    [[unroll]] for (int c = 0; c < FOURS; c++) products += from_lane(own_row[c / 8], c % 8) * keys_at4(key + c);
    float score = block + cluster_lane() < end ? capped(dot(products, vec4(1.0))) : -INF;
    float next_top = top;
    next_top = max(next_top, from_lane(score, 0));
    next_top = max(next_top, from_lane(score, 1));
    next_top = max(next_top, from_lane(score, 2));
    next_top = max(next_top, from_lane(score, 3));
    next_top = max(next_top, from_lane(score, 4));
    next_top = max(next_top, from_lane(score, 5));
    next_top = max(next_top, from_lane(score, 6));
    next_top = max(next_top, from_lane(score, 7));
    float shrink = exp(top - next_top);
    float weight = exp(score - next_top);
    top = next_top;
    sum *= shrink;
    for (int i = 0; i < OWN; i++) total[i] *= shrink;
    {
      float weight0 = from_lane(weight, 0);
      int value = cache + min(block + 0, end - 1) * step;
      sum += weight0;
      for (int i = 0; i < OWN; i++) total[i] += weight0 * values_at4(value + min(cluster_lane() + 8 * i, FOURS - 1));
    }
    {
      float weight1 = from_lane(weight, 1);
      int value = cache + min(block + 1, end - 1) * step;
      sum += weight1;
      for (int i = 0; i < OWN; i++) total[i] += weight1 * values_at4(value + min(cluster_lane() + 8 * i, FOURS - 1));
    }
    {
      float weight2 = from_lane(weight, 2);
      int value = cache + min(block + 2, end - 1) * step;
      sum += weight2;
      for (int i = 0; i < OWN; i++) total[i] += weight2 * values_at4(value + min(cluster_lane() + 8 * i, FOURS - 1));
    }
    {
      float weight3 = from_lane(weight, 3);
      int value = cache + min(block + 3, end - 1) * step;
      sum += weight3;
      for (int i = 0; i < OWN; i++) total[i] += weight3 * values_at4(value + min(cluster_lane() + 8 * i, FOURS - 1));
    }
    {
      float weight4 = from_lane(weight, 4);
      int value = cache + min(block + 4, end - 1) * step;
      sum += weight4;
      for (int i = 0; i < OWN; i++) total[i] += weight4 * values_at4(value + min(cluster_lane() + 8 * i, FOURS - 1));
    }
    {
      float weight5 = from_lane(weight, 5);
      int value = cache + min(block + 5, end - 1) * step;
      sum += weight5;
      for (int i = 0; i < OWN; i++) total[i] += weight5 * values_at4(value + min(cluster_lane() + 8 * i, FOURS - 1));
    }
    {
      float weight6 = from_lane(weight, 6);
      int value = cache + min(block + 6, end - 1) * step;
      sum += weight6;
      for (int i = 0; i < OWN; i++) total[i] += weight6 * values_at4(value + min(cluster_lane() + 8 * i, FOURS - 1));
    }
    {
      float weight7 = from_lane(weight, 7);
      int value = cache + min(block + 7, end - 1) * step;
      sum += weight7;
      for (int i = 0; i < OWN; i++) total[i] += weight7 * values_at4(value + min(cluster_lane() + 8 * i, FOURS - 1));
    }
  }
  for (int i = 0; i < OWN; i++) {
    int four = cluster_lane() + 8 * i;
    if (four >= FOURS) break;
    y_put4(row + four, total[i] / (sum == 0.0 ? 1.0 : sum));
  }
}
