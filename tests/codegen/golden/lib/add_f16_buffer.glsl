layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(constant_id = 3) const int A_READ = 1;
layout(constant_id = 4) const int B_READ = 1;
layout(constant_id = 5) const bool A_ONCE = false;
layout(constant_id = 6) const bool B_ONCE = false;
layout(constant_id = 7) const int ACTIVATION = 1;
layout(push_constant, std430) uniform PushBlock {
  int n;
  int y_shape[8];
  int a_strides[8];
  int b_strides[8];
  int runs[4];
  float act_min;
  float act_max;
  float alpha;
};

// The number of this invocation in a 1-D grid, which the runtime folds into y when it is long. Whole vectors are read by
// fewer words than their members.
int flat_index() {
  uvec3 id = gl_GlobalInvocationID;
  uvec3 groups = gl_NumWorkGroups;
  return int(id.x + id.y * groups.x * gl_WorkGroupSize.x);
}

// The same of this workgroup.
int workgroup_number() { return int(gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x); }

#define IVEC4(v) ivec4(v[0], v[1], v[2], v[3])

// a / b for a >= 0 and b > 0. Software devices divide integers one lane at a time, floats all at once: an estimate, a second
// one of what is left, and the last unit. The factor of 1 - 2^-20 outweighs the roundings, 5.5 of 2^-23 at most, so that no
// estimate is too great and each is short by at most 2^-19 of itself and a unit. Parameters are `const`, so that modules may keep
// the function (compiler/division.h).
int divide(const int a, const int b) {
  float inverse = 0.99999904632568359375 / float(b);
  int quotient = int(float(a) * inverse);
  quotient += int(float(a - quotient * b) * inverse);
  return quotient + (a - quotient * b >= b ? 1 : 0);
}

// The innermost coordinate of `rest` in a shape whose last size is `size`; leaves the outer ones in `rest`.
int take(inout int rest, int size) {
  int outer = divide(rest, size);
  int coordinate = rest - outer * size;
  rest = outer;
  return coordinate;
}

// Sizes and positions of tensors padded to 4 dims are (n, c, h, w), outermost first.
int blocks_of(int count) { return (count + 3) / 4; }

int dense_index(ivec4 nchw, ivec4 sizes) {
  return ((nchw.x * sizes.y + nchw.y) * sizes.z + nchw.z) * sizes.w + nchw.w;
}

ivec4 dense_position(int i, ivec4 sizes) {
  int w = take(i, sizes.w);
  int h = take(i, sizes.z);
  int c = take(i, sizes.y);
  return ivec4(i, c, h, w);
}

// Number `i` of the texels of a tensor: the position of its first channel, and its place in the image.
ivec4 texel_nchw(int i, ivec4 sizes) {
  ivec4 position = dense_position(i, ivec4(sizes.x, blocks_of(sizes.y), sizes.zw));
  return position * ivec4(1, 4, 1, 1);
}

int texel_count(ivec4 sizes) { return sizes.x * blocks_of(sizes.y) * sizes.z * sizes.w; }

ivec3 texel_place(ivec4 nchw, ivec4 sizes) {
  return ivec3(nchw.w, nchw.z, nchw.x * blocks_of(sizes.y) + nchw.y / 4);
}

// Image stores and packHalf2x16() may cut a half's bits off (AMD's drivers do); this rounds to nearest even beforehand, as stores to buffers
// do, what is of a normal half's size. NaN is seen in its bits: where halves were just read, LLVM would compare those, one by one.
vec4 round_to_half(vec4 value) {
  uvec4 bits = floatBitsToUint(value);
  uvec4 rounded = (bits + 0xfffu + ((bits >> 13u) & 1u)) & 0xffffe000u;
  uvec4 beyond = (bits & 0x7fffffffu) - 0x38800000u;
  return uintBitsToFloat(mix(rounded, bits, greaterThan(beyond, uvec4(0x7f800000u - 0x38800000u))));
}
layout(set = 0, binding = 0, std430) readonly buffer a_block { uvec4 a_data[]; };
struct a_Eight { uvec4 halves; };
a_Eight a_load8(int i) { return a_Eight(a_data[i]); }
void a_open8(a_Eight eight, out vec4 low, out vec4 high) {
  low = vec4(unpackHalf2x16(eight.halves.x), unpackHalf2x16(eight.halves.y));
  high = vec4(unpackHalf2x16(eight.halves.z), unpackHalf2x16(eight.halves.w));
}
layout(set = 0, binding = 0, std430) readonly buffer a_fours { uvec2 a_wide[]; };
vec4 a_at4(int i) {
  uvec2 halves = a_wide[i];
  return vec4(unpackHalf2x16(halves.x), unpackHalf2x16(halves.y));
}
layout(set = 0, binding = 1, std430) readonly buffer b_block { uvec4 b_data[]; };
struct b_Eight { uvec4 halves; };
b_Eight b_load8(int i) { return b_Eight(b_data[i]); }
void b_open8(b_Eight eight, out vec4 low, out vec4 high) {
  low = vec4(unpackHalf2x16(eight.halves.x), unpackHalf2x16(eight.halves.y));
  high = vec4(unpackHalf2x16(eight.halves.z), unpackHalf2x16(eight.halves.w));
}
layout(set = 0, binding = 1, std430) readonly buffer b_fours { uvec2 b_wide[]; };
vec4 b_at4(int i) {
  uvec2 halves = b_wide[i];
  return vec4(unpackHalf2x16(halves.x), unpackHalf2x16(halves.y));
}
layout(set = 0, binding = 2, std430) writeonly buffer y_block { uvec4 y_data[]; };
void y_put8(int i, vec4 low, vec4 high) {
  y_data[i] = uvec4(packHalf2x16(low.xy), packHalf2x16(low.zw), packHalf2x16(high.xy), packHalf2x16(high.zw));
}
void a_at8(int i, out vec4 low, out vec4 high) { a_open8(a_load8(i), low, high); }
void b_at8(int i, out vec4 low, out vec4 high) { b_open8(b_load8(i), low, high); }
#define INF uintBitsToFloat(0x7f800000u)
#define NOT_A_NUMBER uintBitsToFloat(0x7fc00000u)

// Bools compare and multiply as 0 and 1.
float number(float v) { return v; }
int number(int v) { return v; }
int number(bool v) { return int(v); }

int maximum(int a, int b) { return max(a, b); }
int minimum(int a, int b) { return min(a, b); }
bool maximum(bool a, bool b) { return a || b; }
bool minimum(bool a, bool b) { return a && b; }
int relu(int v) { return max(v, 0); }

// log(1 + v) for v >= 0 without cancellation near 0.
float log_1_plus(float v) { return v < 1e-4 ? v * (1.0 - 0.5 * v) : log(1.0 + v); }

bool less(float a, float b) { return a < b; }
bvec4 less(vec4 a, vec4 b) { return lessThan(a, b); }

// NaN in either operand gives NaN.
float maximum(float a, float b) { return mix(mix(b, a, less(b, a)), a, isnan(a)); }
float minimum(float a, float b) { return mix(mix(b, a, less(a, b)), a, isnan(a)); }

// isnan(), because drivers turn a mere comparison into a maximum that drops NaN.
float relu(float v) { return mix(max(v, float(0.0)), v, isnan(v)); }
float hardsigmoid(float v) { return minimum(maximum(v + 3.0, float(0.0)), float(6.0)) / 6.0; }
float sigmoid(float v) { return 1.0 / (1.0 + exp(-v)); }

// exp(v) - 1 without cancellation near 0.
float exp_minus_1(float v) {
  float series = v * (1.0 + v * (0.5 + v * (1.0 / 6.0 + v * (1.0 / 24.0 + v * (1.0 / 120.0 + v / 720.0)))));
  return mix(exp(v) - 1.0, series, less(abs(v), float(0.25)));
}

// Neither overflows nor loses digits near 0. It is +-1, as the nearest float is, whatever the device's division gives: of 1 - 1 times a
// great number an ulp would be left.
float tangent_h(float v) {
  float e = exp_minus_1(-2.0 * abs(v));
  float r = e / (2.0 + e);
  return mix(mix(-r, r, less(v, float(0.0))), sign(v), less(float(9.02), abs(v)));
}

// Rational minimax approximation, a few ulp; +-1 where the nearest float is, as tangent_h.
float erf(float v) {
  float s = v * v;
  float p = float(-2.72614225801306e-10);
  p = p * s + 2.77068142495902e-08;
  p = p * s - 2.10102402082508e-06;
  p = p * s - 5.69250639462346e-05;
  p = p * s - 7.34990630326855e-04;
  p = p * s - 2.95459980854025e-03;
  p = p * s - 1.60960333262415e-02;
  float q = float(-1.45660718464996e-05);
  q = q * s - 2.13374055278905e-04;
  q = q * s - 1.68282697438203e-03;
  q = q * s - 7.37332916720468e-03;
  q = q * s - 1.42647390514189e-02;
  return mix(v * p / q, sign(v), less(float(3.92), abs(v)));
}

// NaN in either operand gives NaN.
vec4 maximum(vec4 a, vec4 b) { return mix(mix(b, a, less(b, a)), a, isnan(a)); }
vec4 minimum(vec4 a, vec4 b) { return mix(mix(b, a, less(a, b)), a, isnan(a)); }

// isnan(), because drivers turn a mere comparison into a maximum that drops NaN.
vec4 relu(vec4 v) { return mix(max(v, vec4(0.0)), v, isnan(v)); }
vec4 hardsigmoid(vec4 v) { return minimum(maximum(v + 3.0, vec4(0.0)), vec4(6.0)) / 6.0; }
vec4 sigmoid(vec4 v) { return 1.0 / (1.0 + exp(-v)); }

// exp(v) - 1 without cancellation near 0.
vec4 exp_minus_1(vec4 v) {
  vec4 series = v * (1.0 + v * (0.5 + v * (1.0 / 6.0 + v * (1.0 / 24.0 + v * (1.0 / 120.0 + v / 720.0)))));
  return mix(exp(v) - 1.0, series, less(abs(v), vec4(0.25)));
}

// Neither overflows nor loses digits near 0. It is +-1, as the nearest float is, whatever the device's division gives: of 1 - 1 times a
// great number an ulp would be left.
vec4 tangent_h(vec4 v) {
  vec4 e = exp_minus_1(-2.0 * abs(v));
  vec4 r = e / (2.0 + e);
  return mix(mix(-r, r, less(v, vec4(0.0))), sign(v), less(vec4(9.02), abs(v)));
}

// Rational minimax approximation, a few ulp; +-1 where the nearest float is, as tangent_h.
vec4 erf(vec4 v) {
  vec4 s = v * v;
  vec4 p = vec4(-2.72614225801306e-10);
  p = p * s + 2.77068142495902e-08;
  p = p * s - 2.10102402082508e-06;
  p = p * s - 5.69250639462346e-05;
  p = p * s - 7.34990630326855e-04;
  p = p * s - 2.95459980854025e-03;
  p = p * s - 1.60960333262415e-02;
  vec4 q = vec4(-1.45660718464996e-05);
  q = q * s - 2.13374055278905e-04;
  q = q * s - 1.68282697438203e-03;
  q = q * s - 7.37332916720468e-03;
  q = q * s - 1.42647390514189e-02;
  return mix(v * p / q, sign(v), less(vec4(3.92), abs(v)));
}

int power(int a, int b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? 1 - 2 * (b & 1) : 0;
  int result = 1;
  for (; b > 0; b >>= 1) {
    if ((b & 1) != 0) result *= a;
    a *= a;
  }
  return result;
}

// GLSL's pow is undefined for negative bases and loses digits for small integral exponents.
float power(float a, float b) {
  if (b == 0.0 || a == 1.0) return 1.0;
  if (isnan(a) || isnan(b)) return NOT_A_NUMBER;
  bool integral = floor(b) == b;
  if (integral && abs(b) <= 64.0) {
    float result = 1.0;
    float square = a;
    for (int e = int(abs(b)); e > 0; e >>= 1) {
      if ((e & 1) != 0) result *= square;
      square *= square;
    }
    return b < 0.0 ? 1.0 / result : result;
  }
  if (isinf(b)) return abs(a) == 1.0 ? 1.0 : (abs(a) > 1.0) == (b > 0.0) ? INF : 0.0;
  // Of the floats beyond 2^24 every one is even.
  bool odd = integral && abs(b) < 16777216.0 && (int(b) & 1) != 0;
  float sign_of = a < 0.0 && odd ? -1.0 : 1.0;
  if (a == 0.0) return b < 0.0 ? INF : 0.0;
  if (a < 0.0 && !integral && !isinf(a)) return NOT_A_NUMBER;
  if (isinf(a)) return b < 0.0 ? 0.0 : sign_of * INF;
  return sign_of * pow(abs(a), b);
}

float activate(float v) {
  switch (ACTIVATION) {
    case 3: return v * hardsigmoid(v);
    case 4: return hardsigmoid(v);
    case 5: return sigmoid(v);
    case 6: return v * sigmoid(v);
    case 7: return tangent_h(v);
    case 8: return mix(v * act_min, v, less(float(0.0), v));
    case 9: return 0.5 * v * (1.0 + erf(v * 0.70710678118654752));
  }
  return mix(min(max(v, float(act_min)), float(act_max)), v, isnan(v));
}
vec4 activate(vec4 v) {
  switch (ACTIVATION) {
    case 3: return v * hardsigmoid(v);
    case 4: return hardsigmoid(v);
    case 5: return sigmoid(v);
    case 6: return v * sigmoid(v);
    case 7: return tangent_h(v);
    case 8: return mix(v * act_min, v, less(vec4(0.0), v));
    case 9: return 0.5 * v * (1.0 + erf(v * 0.70710678118654752));
  }
  return mix(min(max(v, vec4(act_min)), vec4(act_max)), v, isnan(v));
}

// Integers take the activations that do not leave them: none here, see the op's checks.
int activate(int v) { return v; }
ivec4 activate(ivec4 v) { return v; }
// Where the operand has y's element i.
int a_index(int i) {
  if (A_READ == 1) return i;
  int index = 0;
  if (A_READ == 0) {
    for (int d = 7; i > 0; d--) index += take(i, y_shape[d]) * a_strides[d];
    return index;
  }
  take(i, runs[0]);
  return A_ONCE ? i : take(i, runs[1]);
}

// For y's elements 4 i .. 4 i + 3: one read for all, or four.
vec4 a_spread4(int i) {
  vec4 value;
  int lanes = A_READ == 0 || A_READ == 4 ? 1 : 4;
  for (int lane = 0; lane < 4; lane += lanes) {
    int index = a_index(min(4 * i + lane, n - 1));
    vec4 found = a_at4(index / 4);
    float one = found[index % 4];
    if (lanes == 1) {
      value[lane] = one;
    } else {
      value = A_READ == 2 ? vec4(one) : found;
    }
  }
  return value;
}

// For y's elements 8 i .. 8 i + 7.
void a_spread8(int i, out vec4 low, out vec4 high) {
  if (A_READ == 1) {
    a_at8(i, low, high);
  } else {
    vec4 parts[2];
    for (int part = 0; part < 2; part++) parts[part] = a_spread4(2 * i + part);
    low = parts[0];
    high = parts[1];
  }
}
// Where the operand has y's element i.
int b_index(int i) {
  if (B_READ == 1) return i;
  int index = 0;
  if (B_READ == 0) {
    for (int d = 7; i > 0; d--) index += take(i, y_shape[d]) * b_strides[d];
    return index;
  }
  take(i, runs[2]);
  return B_ONCE ? i : take(i, runs[3]);
}

// For y's elements 4 i .. 4 i + 3: one read for all, or four.
vec4 b_spread4(int i) {
  vec4 value;
  int lanes = B_READ == 0 || B_READ == 4 ? 1 : 4;
  for (int lane = 0; lane < 4; lane += lanes) {
    int index = b_index(min(4 * i + lane, n - 1));
    vec4 found = b_at4(index / 4);
    float one = found[index % 4];
    if (lanes == 1) {
      value[lane] = one;
    } else {
      value = B_READ == 2 ? vec4(one) : found;
    }
  }
  return value;
}

// For y's elements 8 i .. 8 i + 7.
void b_spread8(int i, out vec4 low, out vec4 high) {
  if (B_READ == 1) {
    b_at8(i, low, high);
  } else {
    vec4 parts[2];
    for (int part = 0; part < 2; part++) parts[part] = b_spread4(2 * i + part);
    low = parts[0];
    high = parts[1];
  }
}
  if (8 * i >= n) return;
  vec4 y[2];
  vec4 a[2];
  a_spread8(i, a[0], a[1]);
  vec4 b[2];
  b_spread8(i, b[0], b[1]);
  for (int part = 0; part < 2; part++) y[part] = round_to_half(four(a[part], b[part]));
  y_put8(i, y[0], y[1]);
