#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

vec4 apply(int step, vec4 v, vec4 b, vec4 c, vec4 d) {
  vec4 o = step % 4 == 1 ? b : step % 4 == 2 ? c : d;
  switch (step / 4) {
    case 1: return v + o;
    case 2: return v - o;
    case 3: return o - v;
    case 4: return v * o;
    case 5: return v / o;
    case 6: return o / v;
    case 7: return maximum(v, o);
    case 8: return minimum(v, o);
    case 9: return relu(v);
    case 10: return -v;
    case 11: return abs(v);
    case 12: return v * v;
    case 13: return sqrt(v);
    case 14: return inversesqrt(v);
    case 15: return 1.0 / v;
    case 16: return precise_exp(v);
    case 17: return precise_log(v);
    case 18: return sigmoid(v);
    case 19: return precise_tanh(v);
    case 20: return v * sigmoid(v);
    case 21: return hardsigmoid(v);
    case 22: return v * hardsigmoid(v);
    case 23: return floor(v);
    case 24: return ceil(v);
  }
  return v;
}

vec4 apply4(vec4 v, vec4 b, vec4 c, vec4 d) {
  v = apply(STEP_0, v, b, c, d);
  v = apply(STEP_1, v, b, c, d);
  v = apply(STEP_2, v, b, c, d);
  v = apply(STEP_3, v, b, c, d);
  v = apply(STEP_4, v, b, c, d);
  v = apply(STEP_5, v, b, c, d);
  return v;
}

void main() {
  int i = flat_index();
}
