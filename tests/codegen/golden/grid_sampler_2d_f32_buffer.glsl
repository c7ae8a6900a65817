#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

// Coordinate along a dimension of `size` pixels after padding, clamped to the int range.
float padded(float at, int size) {
  float last = float(size - 1);
  if (PADDING == 2) {
    float low = ALIGN_CORNERS ? 0.0 : -0.5;
    float span = ALIGN_CORNERS ? last : last + 1.0;
    float distance = abs(at - low);
    float reflections = span > 0.0 ? floor(distance / span) : 0.0;
    float rest = span > 0.0 ? distance - reflections * span : 0.0;
    at = low + (mod(reflections, 2.0) == 0.0 ? rest : span - rest);
  }
  if (PADDING != 0) at = clamp(at, 0.0, last);
  return clamp(at, -1e6, 1e6);
}

float pixel(ivec2 nc, ivec2 at) {
  ivec4 sizes = IVEC4(x_sizes);
  if (at.x < 0 || at.y < 0 || at.x >= sizes.z || at.y >= sizes.w) return 0.0;
  return x_nchw(ivec4(nc, at), sizes);
}

float value(int i) {
  ivec4 nchw = dense_coord(i, IVEC4(y_sizes));
  ivec2 size = ivec2(x_sizes[2], x_sizes[3]);
  int point = ((nchw.x * y_sizes[2] + nchw.z) * y_sizes[3] + nchw.w) * 2;
  vec2 at = vec2(grid_load(point + 1), grid_load(point));
  at = ALIGN_CORNERS ? (at + 1.0) / 2.0 * vec2(size - 1) : ((at + 1.0) * vec2(size) - 1.0) / 2.0;
  if (MODE != 2) at = vec2(padded(at.x, size.x), padded(at.y, size.y));
  if (MODE == 1) return pixel(nchw.xy, ivec2(roundEven(at)));
  at = clamp(at, vec2(-1e6), vec2(1e6));
  ivec2 low = ivec2(floor(at));
  vec2 fraction = at - vec2(low);
  if (MODE == 0) {
    float top = mix(pixel(nchw.xy, low), pixel(nchw.xy, low + ivec2(0, 1)), fraction.y);
    float bottom = mix(pixel(nchw.xy, low + ivec2(1, 0)), pixel(nchw.xy, low + 1), fraction.y);
    return mix(top, bottom, fraction.x);
  }
  vec4 weights_y = cubic_weights(fraction.x);
  vec4 weights_x = cubic_weights(fraction.y);
  float sum = 0.0;
  for (int r = 0; r < 4; r++) {
    float row = 0.0;
    for (int c = 0; c < 4; c++) {
      ivec2 tap = low + ivec2(r, c) - 1;
      row += weights_x[c] * pixel(nchw.xy, ivec2(padded(float(tap.x), size.x), padded(float(tap.y), size.y)));
    }
    sum += weights_y[r] * row;
  }
  return sum;
}

