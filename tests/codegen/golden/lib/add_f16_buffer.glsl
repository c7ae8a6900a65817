layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(constant_id = 3) const int A_READ = 1;
layout(constant_id = 4) const int B_READ = 1;
layout(constant_id = 5) const bool A_ONCE = false;
layout(constant_id = 6) const bool B_ONCE = false;
layout(constant_id = 7) const int RANK = 1;
layout(constant_id = 8) const int ACTIVATION = 1;
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

// Index of this invocation in a 1-D grid; the runtime folds long grids into y. Reading whole
// builtin vectors takes fewer SPIR-V words than reading components.
int flat_index() {
  uvec3 id = gl_GlobalInvocationID;
  uvec3 groups = gl_NumWorkGroups;
  return int(id.x + id.y * groups.x * gl_WorkGroupSize.x);
}

// Index of this workgroup in a 1-D grid.
int workgroup_index() { return int(gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x); }

#define IVEC4(v) ivec4(v[0], v[1], v[2], v[3])

// a / b for a >= 0 and b > 0. Software devices vectorize float but not integer division: two float
// estimates and a correction by one. The factor 1 - 2^-20 exceeds the rounding errors (at most 5.5
// * 2^-23), so that estimates are never too large and at most 2^-19 of their value and 1 too small.
// Parameters are `const`, so that modules may keep the function (compiler/spirv/division.h).
int divide(const int a, const int b) {
  float inverse = 0.99999904632568359375 / float(b);
  int quotient = int(float(a) * inverse);
  quotient += int(float(a - quotient * b) * inverse);
  return quotient + (a - quotient * b >= b ? 1 : 0);
}

// Innermost coordinate of the linear index `rest`, where `size` is the innermost size; leaves the
// outer index in `rest`.
int unravel(inout int rest, int size) {
  int outer = divide(rest, size);
  int coord = rest - outer * size;
  rest = outer;
  return coord;
}

// Sizes and coordinates of tensors padded to 4 dimensions are (n, c, h, w), outermost first.
int channel_blocks(int count) { return (count + 3) / 4; }

int dense_index(ivec4 nchw, ivec4 sizes) {
  return ((nchw.x * sizes.y + nchw.y) * sizes.z + nchw.z) * sizes.w + nchw.w;
}

ivec4 dense_coord(int i, ivec4 sizes) {
  int w = unravel(i, sizes.w);
  int h = unravel(i, sizes.z);
  int c = unravel(i, sizes.y);
  return ivec4(i, c, h, w);
}

// Coordinate of the first channel of texel `i`.
ivec4 texel_nchw(int i, ivec4 sizes) {
  ivec4 position = dense_coord(i, ivec4(sizes.x, channel_blocks(sizes.y), sizes.zw));
  return position * ivec4(1, 4, 1, 1);
}

int texel_count(ivec4 sizes) { return sizes.x * channel_blocks(sizes.y) * sizes.z * sizes.w; }

ivec3 texel_coord(ivec4 nchw, ivec4 sizes) {
  return ivec3(nchw.w, nchw.z, nchw.x * channel_blocks(sizes.y) + nchw.y / 4);
}

// Adding 0.5 rounds to multiples of 2^-24, which are the subnormal numbers of fp16. All selections
// compare bits: LLVM would compare freshly loaded fp16 values one by one.
vec4 round_to_f16(vec4 v) {
  uvec4 bits = floatBitsToUint(v);
  uvec4 magnitude = bits & 0x7fffffffu;
  uvec4 rounded = (magnitude + 0xfffu + ((bits >> 13u) & 1u)) & 0xffffe000u;
  precise vec4 shifted = uintBitsToFloat(magnitude) + 0.5;
  precise vec4 subnormal = shifted - 0.5;
  rounded = mix(rounded, floatBitsToUint(subnormal), lessThan(magnitude, uvec4(0x38800000u)));
  rounded = mix(max(magnitude, 0x7f800000u), rounded, lessThan(magnitude, uvec4(0x477ff000u)));
  return uintBitsToFloat(rounded | (bits & 0x80000000u));
}
layout(set = 0, binding = 0, std430) readonly buffer a_block { uvec4 a_data[]; };
struct a_Packed8 { uvec4 f16_words; };
a_Packed8 a_load8_packed(int i) { return a_Packed8(a_data[i]); }
void a_unpack8(a_Packed8 packed8, out vec4 low, out vec4 high) {
  low = vec4(unpackHalf2x16(packed8.f16_words.x), unpackHalf2x16(packed8.f16_words.y));
  high = vec4(unpackHalf2x16(packed8.f16_words.z), unpackHalf2x16(packed8.f16_words.w));
}
layout(set = 0, binding = 0, std430) readonly buffer a_vec4s { uvec2 a_vec4_data[]; };
vec4 a_load4(int i) {
  uvec2 f16_words = a_vec4_data[i];
  return vec4(unpackHalf2x16(f16_words.x), unpackHalf2x16(f16_words.y));
}
layout(set = 0, binding = 1, std430) readonly buffer b_block { uvec4 b_data[]; };
struct b_Packed8 { uvec4 f16_words; };
b_Packed8 b_load8_packed(int i) { return b_Packed8(b_data[i]); }
void b_unpack8(b_Packed8 packed8, out vec4 low, out vec4 high) {
  low = vec4(unpackHalf2x16(packed8.f16_words.x), unpackHalf2x16(packed8.f16_words.y));
  high = vec4(unpackHalf2x16(packed8.f16_words.z), unpackHalf2x16(packed8.f16_words.w));
}
layout(set = 0, binding = 1, std430) readonly buffer b_vec4s { uvec2 b_vec4_data[]; };
vec4 b_load4(int i) {
  uvec2 f16_words = b_vec4_data[i];
  return vec4(unpackHalf2x16(f16_words.x), unpackHalf2x16(f16_words.y));
}
layout(set = 0, binding = 2, std430) writeonly buffer y_block { uvec4 y_data[]; };
void y_store8(int i, vec4 low, vec4 high) {
  y_data[i] = uvec4(packHalf2x16(low.xy), packHalf2x16(low.zw), packHalf2x16(high.xy), packHalf2x16(high.zw));
}
void a_load8(int i, out vec4 low, out vec4 high) { a_unpack8(a_load8_packed(i), low, high); }
void b_load8(int i, out vec4 low, out vec4 high) { b_unpack8(b_load8_packed(i), low, high); }
#define INF uintBitsToFloat(0x7f800000u)
#define NOT_A_NUMBER uintBitsToFloat(0x7fc00000u)

// Bools compare and multiply as 0 and 1.
float to_number(float v) { return v; }
int to_number(int v) { return v; }
int to_number(bool v) { return int(v); }

int maximum(int a, int b) { return max(a, b); }
int minimum(int a, int b) { return min(a, b); }
bool maximum(bool a, bool b) { return a || b; }
bool minimum(bool a, bool b) { return a && b; }
int relu(int v) { return max(v, 0); }

bool less(float a, float b) { return a < b; }
bvec4 less(vec4 a, vec4 b) { return lessThan(a, b); }
bool either(bool a, bool b) { return a || b; }
bvec4 either(bvec4 a, bvec4 b) { return bvec4(uvec4(a) | uvec4(b)); }

float power_of_2(int n) { return intBitsToFloat((n + 127) << 23); }

// exp(r) - 1 of r = v - n log(2), |r| <= log(2) / 2, for |v| < 1000; the multiples of the first part
// of log(2) are exact.
float expm1_reduced(float v, out int n) {
  float count = roundEven(v * 1.44269504088896341);
  precise float first = v - count * 0.693138122558593750;
  precise float r = first - count * 9.05800061445916071e-6;
  n = int(count);
  return r + r * r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r / 5040.0)))));
}

float exp_scaled(float v, int shift) {
  int n;
  float rest = expm1_reduced(clamp(v, float(-120.0), float(120.0)), n);
  n += shift;
  return mix((1.0 + rest) * power_of_2(n / 2) * power_of_2(n - n / 2), v, isnan(v));
}
// Vulkan's error, 3 + 2 |v| ulp, is below an ulp of fp16.
float precise_exp(float v) { return exp(v); }

// exp(v) - 1 without cancellation near 0, for v <= 60 or NaN.
float expm1_below_60(float v) {
  int n;
  float rest = expm1_reduced(max(v, float(-60.0)), n);
  float scale = power_of_2(n);
  return mix(scale * rest + (scale - 1.0), v, isnan(v));
}
float precise_expm1(float v) {
  return mix(expm1_below_60(v), precise_exp(v), less(float(60.0), v));
}

// v = m * 2^exponent with m in [sqrt(1/2), sqrt(2)), for normal or subnormal v > 0.
float split_exponent(float v, out float exponent) {
  int bits = floatBitsToInt(mix(v, v * 16777216.0, less(v, float(1.17549435e-38))));
  int count = (bits - 0x3f3504f3) >> 23;
  exponent = float(count) - mix(float(0.0), float(24.0), less(v, float(1.17549435e-38)));
  return intBitsToFloat(bits - (count << 23));
}

// log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)); the polynomial of FreeBSD's logf().
float log1p_reduced(float f) {
  float s = f / (2.0 + f);
  float z = s * s;
  float series = z * (0.66666662693 + z * (0.40000972152 + z * (0.28498786688 + z * 0.24279078841)));
  float half_square = 0.5 * f * f;
  return f - (half_square - s * (half_square + series));
}

// log(1 + v) = 2 atanh(v / (2 + v)) for v in [-0.5, 1], without cancellation near 0.
float log1p_nonnegative(float v) {
  float r = v / (2.0 + v);
  float s = r * r;
  return 2.0 * r * (1.0 + s * (1.0 / 3.0 + s * (0.2 + s * (1.0 / 7.0 + s * (1.0 / 9.0 + s * (1.0 / 11.0 + s / 13.0))))));
}

// GLSL leaves log(v) undefined for v <= 0, and drivers may ignore infinities and NaN.
float within_domain_of_log(float v, float result) {
  float outside = mix(mix(float(-INF), float(NOT_A_NUMBER), less(v, float(0.0))), v, isnan(v));
  return mix(outside, mix(v, result, less(v, float(INF))), less(float(0.0), v));
}

// The multiples of the first parts of log(2) and log10(2) are exact.
float precise_log(float v) {
  float e;
  float rest = log1p_reduced(split_exponent(v, e) - 1.0);
  return within_domain_of_log(v, e * 0.693138122558593750 + (e * 9.05800061445916071e-6 + rest));
}
float precise_log2(float v) {
  float e;
  float rest = log1p_reduced(split_exponent(v, e) - 1.0);
  return within_domain_of_log(v, e + rest * 1.44269504088896341);
}
float precise_log10(float v) {
  float e;
  float rest = log1p_reduced(split_exponent(v, e) - 1.0);
  return within_domain_of_log(v, e * 0.301029205322265625 + (e * 7.90341715584e-7 + rest * 0.434294481903251828));
}

vec4 power_of_2(ivec4 n) { return intBitsToFloat((n + 127) << 23); }

// exp(r) - 1 of r = v - n log(2), |r| <= log(2) / 2, for |v| < 1000; the multiples of the first part
// of log(2) are exact.
vec4 expm1_reduced(vec4 v, out ivec4 n) {
  vec4 count = roundEven(v * 1.44269504088896341);
  precise vec4 first = v - count * 0.693138122558593750;
  precise vec4 r = first - count * 9.05800061445916071e-6;
  n = ivec4(count);
  return r + r * r * (0.5 + r * (1.0 / 6.0 + r * (1.0 / 24.0 + r * (1.0 / 120.0 + r * (1.0 / 720.0 + r / 5040.0)))));
}

vec4 exp_scaled(vec4 v, int shift) {
  ivec4 n;
  vec4 rest = expm1_reduced(clamp(v, vec4(-120.0), vec4(120.0)), n);
  n += shift;
  return mix((1.0 + rest) * power_of_2(n / 2) * power_of_2(n - n / 2), v, isnan(v));
}
// Vulkan's error, 3 + 2 |v| ulp, is below an ulp of fp16.
vec4 precise_exp(vec4 v) { return exp(v); }

// exp(v) - 1 without cancellation near 0, for v <= 60 or NaN.
vec4 expm1_below_60(vec4 v) {
  ivec4 n;
  vec4 rest = expm1_reduced(max(v, vec4(-60.0)), n);
  vec4 scale = power_of_2(n);
  return mix(scale * rest + (scale - 1.0), v, isnan(v));
}
vec4 precise_expm1(vec4 v) {
  return mix(expm1_below_60(v), precise_exp(v), less(vec4(60.0), v));
}

// v = m * 2^exponent with m in [sqrt(1/2), sqrt(2)), for normal or subnormal v > 0.
vec4 split_exponent(vec4 v, out vec4 exponent) {
  ivec4 bits = floatBitsToInt(mix(v, v * 16777216.0, less(v, vec4(1.17549435e-38))));
  ivec4 count = (bits - 0x3f3504f3) >> 23;
  exponent = vec4(count) - mix(vec4(0.0), vec4(24.0), less(v, vec4(1.17549435e-38)));
  return intBitsToFloat(bits - (count << 23));
}

// log(1 + f) for 1 + f in [sqrt(1/2), sqrt(2)); the polynomial of FreeBSD's logf().
vec4 log1p_reduced(vec4 f) {
  vec4 s = f / (2.0 + f);
  vec4 z = s * s;
  vec4 series = z * (0.66666662693 + z * (0.40000972152 + z * (0.28498786688 + z * 0.24279078841)));
  vec4 half_square = 0.5 * f * f;
  return f - (half_square - s * (half_square + series));
}

// log(1 + v) = 2 atanh(v / (2 + v)) for v in [-0.5, 1], without cancellation near 0.
vec4 log1p_nonnegative(vec4 v) {
  vec4 r = v / (2.0 + v);
  vec4 s = r * r;
  return 2.0 * r * (1.0 + s * (1.0 / 3.0 + s * (0.2 + s * (1.0 / 7.0 + s * (1.0 / 9.0 + s * (1.0 / 11.0 + s / 13.0))))));
}

// GLSL leaves log(v) undefined for v <= 0, and drivers may ignore infinities and NaN.
vec4 within_domain_of_log(vec4 v, vec4 result) {
  vec4 outside = mix(mix(vec4(-INF), vec4(NOT_A_NUMBER), less(v, vec4(0.0))), v, isnan(v));
  return mix(outside, mix(v, result, less(v, vec4(INF))), less(vec4(0.0), v));
}

// The multiples of the first parts of log(2) and log10(2) are exact.
vec4 precise_log(vec4 v) {
  vec4 e;
  vec4 rest = log1p_reduced(split_exponent(v, e) - 1.0);
  return within_domain_of_log(v, e * 0.693138122558593750 + (e * 9.05800061445916071e-6 + rest));
}
vec4 precise_log2(vec4 v) {
  vec4 e;
  vec4 rest = log1p_reduced(split_exponent(v, e) - 1.0);
  return within_domain_of_log(v, e + rest * 1.44269504088896341);
}
vec4 precise_log10(vec4 v) {
  vec4 e;
  vec4 rest = log1p_reduced(split_exponent(v, e) - 1.0);
  return within_domain_of_log(v, e * 0.301029205322265625 + (e * 7.90341715584e-7 + rest * 0.434294481903251828));
}

int precise_pow(int a, int b) {
  if (b < 0) return a == 1 ? 1 : a == -1 ? 1 - 2 * (b & 1) : 0;
  int result = 1;
  for (; b > 0; b >>= 1) {
    if ((b & 1) != 0) result *= a;
    a *= a;
  }
  return result;
}

// The upper 12 bits of the mantissa: products of two such values are exact.
float upper_bits(float v) { return uintBitsToFloat(floatBitsToUint(v) & 0xfffff000u); }

// log2(v) for finite v > 0 as a sum with an error of about 2^-32 of it; `high` has upper bits only.
// log2(m) = 2 / log(2) * (s + s^3 / 3 + s^5 / 5 + ...) with s = (m - 1) / (m + 1), as FreeBSD's
// powf() computes it. `precise` keeps the differences, which are exact.
void log2_extended(float v, out float high, out float low) {
  float exponent;
  float m = split_exponent(v, exponent);
  precise float f = m - 1.0;
  precise float inverse = 1.0 / (m + 1.0);
  precise float s = f * inverse;
  precise float s_high = upper_bits(s);
  precise float sum_high = upper_bits(m + 1.0);
  precise float sum_low = m - (sum_high - 1.0);
  precise float s_low = inverse * ((f - s_high * sum_high) - s_high * sum_low);
  float z = s * s;
  float series = z * z * (0.6 + z * (0.428571433 + z * (0.333333343 + z * (0.272728115 + z * (0.230660751 + z * 0.206975013)))));
  precise float rest = series + s_low * (s_high + s);
  precise float square = s_high * s_high;
  precise float factor_high = upper_bits(3.0 + square + rest);
  precise float factor_low = rest - ((factor_high - 3.0) - square);
  precise float product = s_high * factor_high;
  precise float product_low = s_low * factor_high + factor_low * s;
  precise float p_high = upper_bits(product + product_low);
  precise float p_low = product_low - (p_high - product);
  precise float q_high = 0.961914063 * p_high;  // 2 / (3 log(2)) in two parts
  precise float q_low = -0.000117368571 * p_high + p_low * 0.961796701;
  precise float result = upper_bits(q_high + q_low + exponent);
  high = result;
  precise float result_low = q_low - ((result - exponent) - q_high);
  low = result_low;
}

// 2^(high + low) for |high| <= 200 and small |low|.
float exp2_extended(float high, float low) {
  precise float count = roundEven(high);
  precise float f = high - count + low;
  float series = f * (0.693147182 + f * (0.240226507 + f * (0.0555041060 + f * (0.00961812865 + f * (0.00133335580 + f * (0.000154035297 + f * 0.0000152527338))))));
  int n = int(count);
  return (1.0 + series) * power_of_2(n / 2) * power_of_2(n - n / 2);
}

// a^b for finite a > 0. A power other than 1 overflows or underflows from |b| = 2^34 on.
float pow_positive(float a, float b) {
  float high, low;
  log2_extended(a, high, low);
  b = clamp(b, -17179869184.0, 17179869184.0);
  precise float b_high = upper_bits(b);
  precise float product = b_high * high;
  precise float product_low = (b - b_high) * high + b * low;
  return abs(product) <= 200.0 ? exp2_extended(product, product_low) : product > 0.0 ? INF : 0.0;
}

// GLSL's pow is undefined for negative bases.
float precise_pow(float a, float b) {
  if (b == 0.0 || a == 1.0) return 1.0;
  if (isnan(a) || isnan(b)) return NOT_A_NUMBER;
  bool integral = floor(b) == b;
  if (integral && abs(b) <= 8.0) {
    float result = 1.0;
    float square = a;
    for (int e = int(abs(b)); e > 0; e >>= 1) {
      if ((e & 1) != 0) result *= square;
      square *= square;
    }
    return b < 0.0 ? 1.0 / result : result;
  }
  if (isinf(b)) return abs(a) == 1.0 ? 1.0 : (abs(a) > 1.0) == (b > 0.0) ? INF : 0.0;
  // All floats beyond 2^24 are even.
  bool odd = integral && abs(b) < 16777216.0 && (int(b) & 1) != 0;
  float sign_of = floatBitsToInt(a) < 0 && odd ? -1.0 : 1.0;
  if (a == 0.0) return sign_of * (b < 0.0 ? INF : 0.0);
  if (a < 0.0 && !integral && !isinf(a)) return NOT_A_NUMBER;
  if (isinf(a)) return b < 0.0 ? 0.0 : sign_of * INF;
  return sign_of * pow_positive(abs(a), b);
}

// NaN in either operand gives NaN.
float maximum(float a, float b) { return mix(mix(b, a, less(b, a)), a, isnan(a)); }
float minimum(float a, float b) { return mix(mix(b, a, less(a, b)), a, isnan(a)); }

// isnan(), because drivers rewrite a plain comparison as a maximum that drops NaN.
float relu(float v) { return mix(max(v, float(0.0)), v, isnan(v)); }
float hardsigmoid(float v) { return minimum(maximum(v + 3.0, float(0.0)), float(6.0)) / 6.0; }
float sigmoid(float v) { return 1.0 / (1.0 + exp(-v)); }
float softplus(float v) { return maximum(v, float(0.0)) + log1p_nonnegative(precise_exp(-abs(v))); }
float mish(float v) {
  float e = precise_exp(min(v, 20.0));
  float n = e * (e + 2.0);
  return mix(v * (n / (n + 2.0)), v, less(float(20.0), v));
}

// No overflow, no cancellation near 0. Returns exactly +-1 where the nearest float is +-1,
// independent of the precision of the device's division.
float precise_tanh(float v) {
  float e = expm1_below_60(-2.0 * abs(v));
  float r = e / (2.0 + e);
  return mix(mix(-r, r, less(v, float(0.0))), sign(v), less(float(9.02), abs(v)));
}

// Rational minimax approximation, a few ulp; exactly +-1 where the nearest float is +-1.
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
  return mix(v * (p / q), sign(v), less(float(3.92), abs(v)));
}

// NaN in either operand gives NaN.
vec4 maximum(vec4 a, vec4 b) { return mix(mix(b, a, less(b, a)), a, isnan(a)); }
vec4 minimum(vec4 a, vec4 b) { return mix(mix(b, a, less(a, b)), a, isnan(a)); }

// isnan(), because drivers rewrite a plain comparison as a maximum that drops NaN.
vec4 relu(vec4 v) { return mix(max(v, vec4(0.0)), v, isnan(v)); }
vec4 hardsigmoid(vec4 v) { return minimum(maximum(v + 3.0, vec4(0.0)), vec4(6.0)) / 6.0; }
vec4 sigmoid(vec4 v) { return 1.0 / (1.0 + exp(-v)); }
vec4 softplus(vec4 v) { return maximum(v, vec4(0.0)) + log1p_nonnegative(precise_exp(-abs(v))); }
vec4 mish(vec4 v) {
  vec4 e = precise_exp(min(v, 20.0));
  vec4 n = e * (e + 2.0);
  return mix(v * (n / (n + 2.0)), v, less(vec4(20.0), v));
}

// No overflow, no cancellation near 0. Returns exactly +-1 where the nearest float is +-1,
// independent of the precision of the device's division.
vec4 precise_tanh(vec4 v) {
  vec4 e = expm1_below_60(-2.0 * abs(v));
  vec4 r = e / (2.0 + e);
  return mix(mix(-r, r, less(v, vec4(0.0))), sign(v), less(vec4(9.02), abs(v)));
}

// Rational minimax approximation, a few ulp; exactly +-1 where the nearest float is +-1.
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
  return mix(v * (p / q), sign(v), less(vec4(3.92), abs(v)));
}

float activate(float v) {
  switch (ACTIVATION) {
    case 3: return v * hardsigmoid(v);
    case 4: return hardsigmoid(v);
    case 5: return sigmoid(v);
    case 6: return v * sigmoid(v);
    case 7: return precise_tanh(v);
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
    case 7: return precise_tanh(v);
    case 8: return mix(v * act_min, v, less(vec4(0.0), v));
    case 9: return 0.5 * v * (1.0 + erf(v * 0.70710678118654752));
  }
  return mix(min(max(v, vec4(act_min)), vec4(act_max)), v, isnan(v));
}

// Integer outputs have no fused activation (the specs check it).
int activate(int v) { return v; }
ivec4 activate(ivec4 v) { return v; }
// Index of the operand's element for element i of y.
int a_index(int i) {
  if (A_READ == 1) return i;
  int index = 0;
  if (A_READ == 0 || A_READ > 4) {
    for (int d = 7; d > 8 - RANK; d--) index += unravel(i, y_shape[d]) * a_strides[d];
    return index + i * a_strides[8 - RANK];
  }
  unravel(i, runs[0]);
  return A_ONCE ? i : unravel(i, runs[1]);
}

// For elements 4 i to 4 i + 3 of y: one vec4 load, or four.
vec4 a_broadcast4(int i) {
  vec4 value;
  int lanes = A_READ == 0 || A_READ == 4 ? 1 : 4;
  for (int lane = 0; lane < 4; lane += lanes) {
    int index = a_index(min(4 * i + lane, n - 1));
    vec4 loaded = a_load4(index / 4);
    float element = loaded[index % 4];
    if (lanes == 1) {
      value[lane] = element;
    } else {
      value = A_READ == 2 || A_READ == 6 ? vec4(element) : loaded;
    }
  }
  return value;
}

// For elements 8 i to 8 i + 7 of y.
void a_broadcast8(int i, out vec4 low, out vec4 high) {
  if (A_READ == 1) {
    a_load8(i, low, high);
    return;
  }
  vec4 values[2];
  for (int k = 0; k < 2; k++) values[k] = a_broadcast4(2 * i + k);
  low = values[0];
  high = values[1];
}
// Index of the operand's element for element i of y.
int b_index(int i) {
  if (B_READ == 1) return i;
  int index = 0;
  if (B_READ == 0 || B_READ > 4) {
    for (int d = 7; d > 8 - RANK; d--) index += unravel(i, y_shape[d]) * b_strides[d];
    return index + i * b_strides[8 - RANK];
  }
  unravel(i, runs[2]);
  return B_ONCE ? i : unravel(i, runs[3]);
}

// For elements 4 i to 4 i + 3 of y: one vec4 load, or four.
vec4 b_broadcast4(int i) {
  vec4 value;
  int lanes = B_READ == 0 || B_READ == 4 ? 1 : 4;
  for (int lane = 0; lane < 4; lane += lanes) {
    int index = b_index(min(4 * i + lane, n - 1));
    vec4 loaded = b_load4(index / 4);
    float element = loaded[index % 4];
    if (lanes == 1) {
      value[lane] = element;
    } else {
      value = B_READ == 2 || B_READ == 6 ? vec4(element) : loaded;
    }
  }
  return value;
}

// For elements 8 i to 8 i + 7 of y.
void b_broadcast8(int i, out vec4 low, out vec4 high) {
  if (B_READ == 1) {
    b_load8(i, low, high);
    return;
  }
  vec4 values[2];
  for (int k = 0; k < 2; k++) values[k] = b_broadcast4(2 * i + k);
  low = values[0];
  high = values[1];
}
  if (8 * i >= n) return;
  vec4 y[2];
  vec4 a[2];
  a_broadcast8(i, a[0], a[1]);
  vec4 b[2];
  b_broadcast8(i, b[0], b[1]);
  for (int k = 0; k < 2; k++) y[k] = round_to_f16(apply4(a[k], b[k]));
  y_store8(i, y[0], y[1]);
