#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

struct Found {
  float v;
  int place;
};

shared Found found[LANES];

Found best_of(Found v) {
  int own = int(gl_LocalInvocationID.x);
  barrier();
  found[own] = v;
  barrier();
  for (int apart = LANES / 2; apart > 0; apart /= 2) {
    if (own < apart) {
      Found a = found[own];
      Found b = found[own + apart];
      found[own] = b.v > a.v || b.v == a.v && b.place < a.place ? b : a;
    }
    barrier();
  }
  v = found[0];

  return v;
}

// Floats as integers of the same order, and back.
uint ordered(float v) {
  uint bits = floatBitsToUint(v);
  return (bits & 0x80000000u) != 0u ? ~bits : bits | 0x80000000u;
}

float unordered(uint key) { return uintBitsToFloat((key & 0x80000000u) != 0u ? key & 0x7fffffffu : ~key); }

float score(int i) {
  float s = scores_at(i);
  return isnan(s) ? -INF : s;
}

// How many of the first `extent` scores are at least `least`.
float count_from(int extent, int first, float least) {
  float own = 0.0;
  for (int i = lane(); i < extent; i += LANES) own += score(first + i) >= least ? 1.0 : 0.0;
  return sum_of(own);
}

// The sum of exp((score - top) / temperature) over the first `extent` scores that are at least `least` and greater than `bound`.
float mass(int extent, int first, float least, float bound, float top) {
  float own = 0.0;
  for (int i = lane(); i < extent; i += LANES) {
    float s = score(first + i);
    float weight = s == top ? 1.0 : exp((s - top) / temperature_at(0));
    own += s >= least && s > bound ? weight : 0.0;
  }
  return sum_of(own);
}

// Of the first `extent` tokens that of the greatest score with noise, if it is at least `least` and greater than `bound`; else `any`.
int chosen(int extent, int first, float least, float bound, uint position, int any) {
  Found best = Found(-INF, any);
  for (int quad = lane(); 4 * quad < extent; quad += LANES) {
    uvec4 words = philox(uvec4(uint(quad), position, 0u, 0u), uvec2(uint(seed_at(0)), 0u));
    for (int c = 0; c < min(4, extent - 4 * quad); c++) {
      float s = score(first + 4 * quad + c);
      float v = s - temperature_at(0) * log(exponential(words[c]));
      if (s >= least && s > bound && v > best.v) best = Found(v, 4 * quad + c);
    }
  }
  return best_of(best).place;
}

// The least score that is among the `wanted` greatest, or a number between it and the next; `each_has` is not above it.
float least_of_greatest(int wanted, int first, float each_has, float top) {
  uint low = ordered(each_has);
  uint high = ordered(top) + 1u;
  float kept = -1.0;  // scores from low on: too many yet
  for (int step = 0; step < 32; step++) {
    bool open = kept != float(wanted) && high - low > 1u;
    uint middle = low + (high - low) / 2u;
    float from_middle = count_from(open ? count : 0, first, unordered(middle));
    if (open && from_middle >= float(wanted)) {
      low = middle;
      kept = from_middle;
    } else if (open) {
      high = middle;
    }
  }
  return unordered(low);
}

void main() {
  int row = workgroup_number();
  int first = min(row, rows - 1) * count;
  Found best = Found(-INF, lane());
  // Four loads under way together.
  for (int i = lane(); i < count; i += 4 * LANES) {
    vec4 four;
    for (int c = 0; c < 4; c++) four[c] = score(first + min(i + c * LANES, count - 1));
    for (int c = 0; c < 4; c++) {
      if (i + c * LANES < count && four[c] > best.v) best = Found(four[c], i + c * LANES);
    }
  }
  float each_has = -greatest_of(-best.v);
  best = best_of(best);
  int token = best.place;
  if (temperature_at(0) > 0.0) {
    float least = -INF;
    int wanted = top_k_at(0);
    if (wanted > 0 && wanted < count) least = least_of_greatest(wanted, first, wanted <= LANES ? each_has : -INF, best.v);
    // A choice leaves a part of the probability above it; all parts are as likely. So many in a row are not.
    float share = top_p_at(0);
    int rounds = share < 1.0 ? 16 - 4 * int(log(max(share, 1e-6))) : 1;
    float total = mass(share < 1.0 ? count : 0, first, least, -INF, best.v);
    float bound = -INF;
    bool refused = true;
    for (int k = 0; k < rounds; k++) {
      token = chosen(refused ? count : 0, first, least, bound, uint(position_at(0) + row), token);
      bound = score(first + token);
      float above = mass(refused && share < 1.0 ? count : 0, first, least, bound, best.v);
      refused = refused && share < 1.0 && bound < best.v && above >= share * total;
    }
    if (refused) token = best.place;
  }
  if (row < rows && lane() == 0) y_put(row, token);
}
