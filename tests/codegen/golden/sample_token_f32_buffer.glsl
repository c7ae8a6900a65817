#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

const int LIST_SIZE = 256;  // of the candidates; at most four per lane

struct IndexedScore {
  float v;
  int index;
};

shared IndexedScore lane_best[LANES];

IndexedScore best_of(IndexedScore v) {
  int local_index = int(gl_LocalInvocationID.x);
  barrier();
  lane_best[local_index] = v;
  barrier();
  for (int distance = LANES / 2; distance > 0; distance /= 2) {
    if (local_index < distance) {
      IndexedScore a = lane_best[local_index];
      IndexedScore b = lane_best[local_index + distance];
      lane_best[local_index] = b.v > a.v || b.v == a.v && b.index < a.index ? b : a;
    }
    barrier();
  }
  v = lane_best[0];

  return v;
}

// Order-preserving map of floats to unsigned integers, and its inverse.
uint float_to_ordered(float v) {
  uint bits = floatBitsToUint(v);
  return (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;
}

float ordered_to_float(uint key) { return uintBitsToFloat((key & 0x80000000u) != 0u ? key & 0x7fffffffu : ~key); }

shared int scan_counts_values[64];

int scan_counts(int v, out int all) {
  int lane = int(gl_LocalInvocationID.x);
  barrier();
  scan_counts_values[lane] = v;
  barrier();
  for (int distance = 1; distance < 64; distance *= 2) {
    int a = scan_counts_values[max(lane - distance, 0)];
    int b = scan_counts_values[lane];
    barrier();
    if (lane >= distance) scan_counts_values[lane] = a + b;
    barrier();
  }
  all = scan_counts_values[64 - 1 + lane % 1];
  int before = scan_counts_values[max(lane - 1, 0)];
  return lane < 1 ? 0 : before;
}


// The candidates, unless they are too many: scores and tokens. A lane has four of them.
shared float list_scores[LIST_SIZE];
shared int list_tokens[LIST_SIZE];
vec4 own_listed = vec4(-INF);

// Scores 4 quad to 4 quad + 3 of the row that starts at `first`; -INF beyond its end.
vec4 load_quad(int first, int quad) {
  int i = 4 * min(quad, (count - 1) / 4);
  vec4 v;
  if (ALIGNED_4) {
    v = scores_load4((first + i) / 4);
  } else {
    for (int c = 0; c < 4; c++) v[c] = scores_load(first + min(i + c, count - 1));
  }
  bvec4 outside = greaterThanEqual(4 * quad + ivec4(0, 1, 2, 3), ivec4(count));
  return mix(v, vec4(-INF), bvec4(uvec4(outside) | uvec4(isnan(v))));
}

float largest(vec4 v) { return max(max(v.x, v.y), max(v.z, v.w)); }

// Number of the row's scores that are at least `threshold`, which is greater than -INF.
float count_at_least(int first, float threshold) {
  float lane_count = 0.0;
  for (int quad = lane(); 4 * quad < count; quad += LANES) {
    vec4 v = load_quad(first, quad);
    lane_count += dot(vec4(greaterThanEqual(v, vec4(threshold))), vec4(1.0));
  }
  return workgroup_sum(lane_count);
}

// Passes over the candidates: of the lane's part of the list, then of the first `extent` scores of the
// row, which is 0 if the candidates are listed.

// Sum of exp((score - max_score) / temperature) over the candidates with score >= threshold and
// score > bound.
float mass(int extent, int first, float threshold, float bound, float max_score) {
  float lane_mass = 0.0;
  vec4 v = own_listed;
  for (int quad = lane() - LANES; 4 * quad < extent; quad += LANES) {
    if (quad >= 0) v = load_quad(first, quad);
    vec4 weights = mix(exp((v - max_score) / temperature_load(0)), vec4(1.0), equal(v, vec4(max_score)));
    uvec4 counts = uvec4(greaterThanEqual(v, vec4(threshold))) & uvec4(greaterThan(v, vec4(bound)));
    lane_mass += dot(mix(vec4(0.0), weights, bvec4(counts)), vec4(1.0));

  }
  return workgroup_sum(lane_mass);
}

// Gumbel-max value of token i, whose score is s, by word i % 4 of its random numbers.
float perturbed(float s, uint word) { return s - temperature_load(0) * log(exponential(word)); }

uvec4 random_words(int quad, uint position) {
  return philox(uvec4(uint(quad), position, 0u, 0u), uvec2(uint(seed_load(0)), 0u));
}

// Samples from the candidates with score >= threshold and score > bound; returns
// `fallback` if there is none. `max_token` has the maximum score. -log(exponential()) is below 23:
// tokens that it cannot raise above the value of `max_token` need no random numbers.
int sample_above(int extent, int first, float threshold, float bound, uint position, int fallback, IndexedScore max_token) {
  float at_least = perturbed(max_token.v, random_words(max_token.index / 4, position)[max_token.index % 4]) - 23.0 * temperature_load(0);
  at_least = max(threshold, max_token.v > bound ? at_least : -INF);
  IndexedScore best = IndexedScore(-INF, fallback);
  vec4 v = own_listed;
  for (int quad = lane() - LANES; 4 * quad < extent; quad += LANES) {
    if (quad >= 0) v = load_quad(first, quad);
    if (largest(v) < at_least) continue;
    int words_quad = -1;
    uvec4 words;
    for (int c = 0; c < 4; c++) {
      if (v[c] < at_least || v[c] <= bound) continue;
      int candidate = quad < 0 ? list_tokens[4 * lane() + c] : 4 * quad + c;
      if (candidate / 4 != words_quad) words = random_words(candidate / 4, position);
      words_quad = candidate / 4;
      float noisy = perturbed(v[c], words[candidate % 4]);
      if (noisy > best.v || noisy == best.v && candidate < best.index) best = IndexedScore(noisy, candidate);
    }

  }
  return best_of(best).index;
}

// The `requested`-th best of the first `extent` values of list_scores.
float select_listed(int requested, int extent) {
  float worst = INF;
  for (int k = lane(); k < extent; k += LANES) {
    float own = list_scores[k];
    int better = 0;
    for (int i = 0; i < extent; i++) better += list_scores[i] > own ? 1 : 0;
    if (better < requested) worst = min(worst, own);
  }
  return workgroup_uniform(-workgroup_max(-worst));
}

// Lists the scores that are at least `threshold`, always in the same order, and returns their number;
// 0 if they are too many.
int list_candidates(int first, float threshold) {
  int own_count = 0;
  ivec4 own = ivec4(0);
  vec4 own_scores = vec4(0.0);
  for (int quad = lane(); 4 * quad < count; quad += LANES) {
    vec4 v = load_quad(first, quad);
    if (largest(v) < threshold) continue;
    for (int c = 0; c < 4; c++) {
      if (v[c] < threshold) continue;
      own = ivec4(4 * quad + c, own.xyz);
      own_scores = vec4(v[c], own_scores.xyz);
      own_count++;
    }
  }
  int total;
  int at = scan_counts(own_count > 4 ? LIST_SIZE + 1 : own_count, total);
  int listed = int(workgroup_uniform(total <= LIST_SIZE ? float(total) : 0.0));
  if (listed > 0 && own_count > 0) {
    list_scores[at + 0] = own_scores[0];
    list_tokens[at + 0] = own[0];
  }
  if (listed > 0 && own_count > 1) {
    list_scores[at + 1] = own_scores[1];
    list_tokens[at + 1] = own[1];
  }
  if (listed > 0 && own_count > 2) {
    list_scores[at + 2] = own_scores[2];
    list_tokens[at + 2] = own[2];
  }
  if (listed > 0 && own_count > 3) {
    list_scores[at + 3] = own_scores[3];
    list_tokens[at + 3] = own[3];
  }
  barrier();
  for (int c = 0; c < 4; c++) own_listed[c] = 4 * lane() + c < listed ? list_scores[min(4 * lane() + c, LIST_SIZE - 1)] : -INF;
  return listed;
}

// A threshold between the `requested`-th best score (inclusive) and the next one (exclusive). Sets
// `listed` to the number of listed candidates.
float top_k_threshold(int requested, int first, float lane_max, out int listed) {
  uint low = float_to_ordered(-INF);
  listed = 0;
  // First among the lanes' maxima, then among the candidates.
  list_scores[lane()] = lane_max;
  for (int pass = 0; pass < 2 && requested <= LANES && (pass == 0 || listed > 0); pass++) {
    barrier();
    float selected = select_listed(requested, pass == 0 ? LANES : listed);
    if (pass == 1) return selected;
    if (selected > -INF) listed = list_candidates(first, selected);
    low = float_to_ordered(selected);
  }
  uint high = float_to_ordered(INF) + 1u;
  float count_above = -1.0;  // number of values >= low; initially too large
  for (int step = 0; step < 32 && count_above != float(requested) && high - low > 1u; step++) {
    uint middle = low + (high - low) / 2u;
    float from_middle = workgroup_uniform(count_at_least(first, ordered_to_float(middle)));
    if (from_middle >= float(requested)) {
      low = middle;
      count_above = from_middle;
    } else {
      high = middle;
    }
  }
  return ordered_to_float(low);
}

void main() {
  int row = workgroup_index();
  int first = min(row, rows - 1) * count;
  IndexedScore best = IndexedScore(-INF, lane());
  for (int quad = lane(); 4 * quad < count; quad += LANES) {
    vec4 v = load_quad(first, quad);
    float most = largest(v);
    if (most > best.v) best = IndexedScore(most, 4 * quad + (v.x == most ? 0 : v.y == most ? 1 : v.z == most ? 2 : 3));
  }
  float lane_max = best.v;
  best = best_of(best);
  int token = best.index;
  if (temperature_load(0) > 0.0) {
    float threshold = -INF;
    int requested = top_k_load(0);
    int listed = 0;
    if (requested > 0 && requested < count) threshold = top_k_threshold(requested, first, lane_max, listed);
    int extent = listed > 0 ? 0 : count;
    // The mass above a sample is uniformly distributed, so that long runs of rejections are
    // improbable; the number of rounds bounds them. The first round has the total mass.
    float top_p_value = top_p_load(0);
    bool filters = top_p_value < 1.0;
    int rounds = filters ? 16 - 4 * int(log(max(top_p_value, 1e-6))) : 0;
    float total = 0.0;
    float bound = -INF;
    bool rejected = true;
    for (int k = 0; k <= rounds && rejected; k++) {
      float above = filters ? mass(extent, first, threshold, bound, best.v) : 0.0;
      if (k == 0) total = above;
      rejected = workgroup_uniform(k == 0 || bound < best.v && above >= top_p_value * total ? 1.0 : 0.0) > 0.0;
      if (rejected) token = k < max(rounds, 1) ? sample_above(extent, first, threshold, bound, uint(position_load(0) + row), token, best) : best.index;
      bound = scores_load(first + token);
    }
  }
  if (row < rows && lane() == 0) y_store(row, token);
}
