layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(push_constant, std430) uniform PushBlock {
  int n;
  int y_sizes[4];
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

layout(set = 0, binding = 0, std430) readonly buffer x_block {
  float16_t x_data[];
};
float x_at(int i) { return float(x_data[i]); }
float x_nchw(ivec4 nchw, ivec4 sizes) { return x_at(dense_index(nchw, sizes)); }
float x_flat(int i, ivec4 sizes) { return x_at(i); }
layout(set = 0, binding = 1, rgba8ui) uniform writeonly uimage3D y_image;
// Lanes at or beyond `channels` are written as zero. 8-bit integers wrap, as stores to buffers do.
void y_put_texel(ivec3 place, bvec4 value, int channels) {
  bvec4 used = lessThan(ivec4(0, 1, 2, 3), ivec4(channels));
  imageStore(y_image, place, mix(uvec4(0), uvec4(value), used));
}
