#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

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

float score(int i) {
  float s = scores_load(i);
  return isnan(s) ? -INF : s;
}

// This lane's scores i, i + LANES, … of the first `extent`; -INF beyond them. Four loads in flight.
vec4 scores4(int extent, int first, int i) {
  vec4 values;
  for (int c = 0; c < 4; c++) values[c] = score(first + min(i + c * LANES, extent - 1));
  for (int c = 0; c < 4; c++) values[c] = i + c * LANES < extent ? values[c] : -INF;
  return values;
}

// Number of the first `extent` scores, and of the lanes' `lane_value`, that are at least
// `threshold`, which is greater than -INF.
float count_at_least(int extent, int first, float lane_value, float threshold) {
  float lane_count = lane_value >= threshold ? 1.0 : 0.0;
  for (int i = lane(); i < extent; i += 4 * LANES) {
    vec4 values = scores4(extent, first, i);
    for (int c = 0; c < 4; c++) lane_count += values[c] >= threshold ? 1.0 : 0.0;
  }
  return workgroup_sum(lane_count);
}

// Sum of exp((score - max_score) / temperature) over the first `extent` scores with score >=
// threshold and score > bound.
float mass(int extent, int first, float threshold, float bound, float max_score) {
  float lane_mass = 0.0;
  for (int i = lane(); i < extent; i += 4 * LANES) {
    vec4 values = scores4(extent, first, i);
    for (int c = 0; c < 4; c++) {
      float s = values[c];
      float weight = s == max_score ? 1.0 : exp((s - max_score) / temperature_load(0));
      lane_mass += s >= threshold && s > bound ? weight : 0.0;
    }
  }
  return workgroup_sum(lane_mass);
}

// Gumbel-max value of token i, whose score is s, by word i % 4 of its random numbers.
float perturbed(float s, uint word) { return s - temperature_load(0) * log(exponential(word)); }

uvec4 random_words(int quad, uint position) {
  return philox(uvec4(uint(quad), position, 0u, 0u), uvec2(uint(seed_load(0)), 0u));
}

// Samples from the first `extent` tokens with score >= threshold and score > bound; returns
// `fallback` if there is none. `max_token` has the maximum score. -log(exponential()) is below 23:
// tokens that it cannot raise above the value of `max_token` need no random numbers.
int sample_above(int extent, int first, float threshold, float bound, uint position, int fallback, IndexedScore max_token) {
  float at_least = perturbed(max_token.v, random_words(max_token.index / 4, position)[max_token.index % 4]) - 23.0 * temperature_load(0);
  at_least = max(threshold, max_token.v > bound ? at_least : -INF);
  IndexedScore best = IndexedScore(-INF, fallback);
  for (int quad = lane(); 4 * quad < extent; quad += LANES) {
    vec4 scores;
    for (int c = 0; c < 4; c++) scores[c] = score(first + min(4 * quad + c, extent - 1));
    if (max(max(scores.x, scores.y), max(scores.z, scores.w)) < at_least) continue;
    uvec4 words = random_words(quad, position);
    for (int c = 0; c < min(4, extent - 4 * quad); c++) {
      float v = perturbed(scores[c], words[c]);
      if (scores[c] >= at_least && scores[c] > bound && v > best.v) best = IndexedScore(v, 4 * quad + c);
    }
  }
  return best_of(best).index;
}

// A threshold between the `requested`-th best score (inclusive) and the next one (exclusive). At least
// as many scores as maxima of lanes exceed a threshold: a search among these maxima, which reads no
// scores, gives a lower bound.
float top_k_threshold(int requested, int first, float lane_max, float max_score) {
  uint low = float_to_ordered(-INF);
  for (int pass = requested <= LANES ? 0 : 1; pass < 2; pass++) {
    uint high = float_to_ordered(max_score) + 1u;
    float count_above = -1.0;  // number of values >= low; initially too large
    for (int step = 0; step < 32; step++) {
      bool searching = count_above != float(requested) && high - low > 1u;
      uint middle = low + (high - low) / 2u;
      float from_middle = count_at_least(searching && pass == 1 ? count : 0, first, pass == 0 ? lane_max : -INF, ordered_to_float(middle));
      if (searching && from_middle >= float(requested)) {
        low = middle;
        count_above = from_middle;
      } else if (searching) {
        high = middle;
      }
    }
  }
  return ordered_to_float(low);
}

void main() {
  int row = workgroup_index();
  int first = min(row, rows - 1) * count;
  IndexedScore best = IndexedScore(-INF, lane());
  for (int i = lane(); i < count; i += 4 * LANES) {
    vec4 values = scores4(count, first, i);
    for (int c = 0; c < 4; c++) {
      if (values[c] > best.v) best = IndexedScore(values[c], i + c * LANES);
    }
  }
  float lane_max = best.v;
  best = best_of(best);
  int token = best.index;
  if (temperature_load(0) > 0.0) {
    float threshold = -INF;
    int requested = top_k_load(0);
    if (requested > 0 && requested < count) threshold = top_k_threshold(requested, first, lane_max, best.v);
    // The mass above a sample is uniformly distributed, so that long runs of rejections are
    // improbable; the number of rounds bounds them.
    float top_p_value = top_p_load(0);
    int rounds = top_p_value < 1.0 ? 16 - 4 * int(log(max(top_p_value, 1e-6))) : 1;
    float total = mass(top_p_value < 1.0 ? count : 0, first, threshold, -INF, best.v);
    float bound = -INF;
    bool rejected = true;
    for (int k = 0; k < rounds; k++) {
      token = sample_above(rejected ? count : 0, first, threshold, bound, uint(position_load(0) + row), token, best);
      bound = score(first + token);
      float above = mass(rejected && top_p_value < 1.0 ? count : 0, first, threshold, bound, best.v);
      rejected = rejected && top_p_value < 1.0 && bound < best.v && above >= top_p_value * total;
    }
    if (rejected) token = best.index;
  }
  if (row < rows && lane() == 0) y_store(row, token);
}
