layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(push_constant, std430) uniform PushBlock {
  int n;
  int y_sizes[4];
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

layout(set = 0, binding = 0, std430) readonly buffer x_block {
  float16_t x_data[];
};
float x_load(int i) { return float(x_data[i]); }
float x_nchw(ivec4 nchw, ivec4 sizes) { return x_load(dense_index(nchw, sizes)); }
float x_flat(int i, ivec4 sizes) { return x_load(i); }
layout(set = 0, binding = 1, rgba8ui) uniform writeonly uimage3D y_image;
// Channels at or beyond `channels` are stored as zero. 8-bit integers wrap, as in buffer stores.
void y_store_texel(ivec3 coord, bvec4 value, int channels) {
  bvec4 used = lessThan(ivec4(0, 1, 2, 3), ivec4(channels));
  imageStore(y_image, coord, mix(uvec4(0), uvec4(value), used));
}
