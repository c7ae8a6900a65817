#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

float value(int i) {
  int rest = i;
  unravel(rest, inner);
  int channel = unravel(rest, channels);
  float sum = 0.0;
  for (int c = max(channel - before, 0); c < min(channel - before + size, channels); c++) {
    float v = x_flat(i + (c - channel) * inner, IVEC4(y_sizes));
    sum += v * v;
  }
  return x_flat(i, IVEC4(y_sizes)) / precise_pow(k + alpha * sum / float(size), beta);
}

