layout(local_size_x = 64, local_size_y = 1, local_size_z = 1) in;
layout(local_size_x_id = 0, local_size_y_id = 1, local_size_z_id = 2) in;
layout(push_constant, std430) uniform PushBlock {
  int n;
  int y_sizes[4];
};

// The number of this invocation in a 1-D grid, which the runtime folds into y when it is long.
int flat_index() {
  return int(gl_GlobalInvocationID.x + gl_GlobalInvocationID.y * gl_NumWorkGroups.x * gl_WorkGroupSize.x);
}

#define IVEC4(v) ivec4(v[0], v[1], v[2], v[3])

// Sizes and positions of tensors padded to 4 dims are (n, c, h, w), outermost first.
int blocks_of(int count) { return (count + 3) / 4; }

int dense_index(ivec4 nchw, ivec4 sizes) {
  return ((nchw.x * sizes.y + nchw.y) * sizes.z + nchw.z) * sizes.w + nchw.w;
}

ivec4 dense_position(int i, ivec4 sizes) {
  int row = i / sizes.w;
  int plane = row / sizes.z;
  return ivec4(plane / sizes.y, plane % sizes.y, row % sizes.z, i % sizes.w);
}

// Number `i` of the texels of a tensor: the position of its first channel, and its place in the image.
ivec4 texel_nchw(int i, ivec4 sizes) {
  int row = i / sizes.w;
  int plane = row / sizes.z;
  int blocks = blocks_of(sizes.y);
  return ivec4(plane / blocks, plane % blocks * 4, row % sizes.z, i % sizes.w);
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
// Lanes at or beyond `channels` are written as zero.
void y_put_texel(ivec3 place, bvec4 value, int channels) {
  bvec4 used = lessThan(ivec4(0, 1, 2, 3), ivec4(channels));
  imageStore(y_image, place, mix(uvec4(0), uvec4(value), used));
}
