#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE float
#define SIZES(s) ivec4(s[4], s[5], s[6], s[7])

TYPE combine(float x, float a, float b) {
  return x + scale * a / b;
}

TYPE value(int i) {
  ivec3 index = ivec3(0);
  ivec3 stride = ivec3(1);
  for (int d = 7; d >= 0; d--) {
    ivec3 sizes = ivec3(x_shape[d], a_shape[d], b_shape[d]);
    int size = max(sizes.x, max(sizes.y, sizes.z));
    index += unravel(i, size) * stride * ivec3(notEqual(sizes, ivec3(1)));
    stride *= sizes;
  }
  return combine(x_flat(index.x, SIZES(x_shape)), a_flat(index.y, SIZES(a_shape)),
                 b_flat(index.z, SIZES(b_shape)));
}

