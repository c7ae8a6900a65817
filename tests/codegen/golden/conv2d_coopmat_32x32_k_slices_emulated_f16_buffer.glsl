#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require
layout(set = 0, binding = 1, std430) readonly buffer weight_vec8s { uvec4 weight_vec8_data[]; };

// Eight fp16 values each: rows of the weight tile, then positions of the two input tiles; later 16
// channels of each subgroup tile of y. Rows are padded by one vec8 against bank conflicts.
shared uvec4 tiles[960];


int k_slice;   // of this invocation
int image;     // of the tile
int slice;     // of the input channels
ivec2 corner;  // first row and column of the tile in y
int halo_columns, halo_positions;  // of the rectangle of inputs

void begin_column(int tile_column) {
  ivec2 at = corner + ivec2(tile_column / 16, tile_column % 16);
  bool stores = at.x < y_sizes[2];
  set_pixels(((slice * y_sizes[0] + image) * y_sizes[2] + at.x) * y_sizes[3] + at.y, stores ? min(y_sizes[3] - at.y, 4) : 0);
}

// Eight channels, from `c`, of a position of the rectangle; zeros outside x.
uvec4 load_inputs(int position, int c) {
  int row = divide(position, halo_columns);
  ivec2 at = corner * ivec2(stride[0], stride[1]) - ivec2(padding[0], padding[1]) + ivec2(row, position - row * halo_columns);
  bool inside = position < halo_positions && c < group_in && all(greaterThanEqual(at, ivec2(0))) && at.x < x_sizes[2] && at.y < x_sizes[3];
  F16Value values[8];
  int plane = x_sizes[2] * x_sizes[3];
  int index = (image * x_sizes[1] + c) * plane + at.x * x_sizes[3] + at.y;
  [[unroll]] for (int e = 0; e < 8; e++) values[e] = F16Value(0.0);
  if (inside) {
    [[unroll]] for (int e = 0; e < 8; e++) values[e] = F16Value(x_data[index + e * plane]);
  }
  return uvec4(pack_f16x2(values[0], values[1]), pack_f16x2(values[2], values[3]), pack_f16x2(values[4], values[5]), pack_f16x2(values[6], values[7]));
}

void main() {
  int lane = int(gl_LocalInvocationID.x);
  k_slice = 0;
  int weight_tile = k_slice * 960;
  int input_tiles = weight_tile + 160;
  int block = workgroup_index();
  slice = unravel(block, slices);
  int slice_channels = divide(group_in + 32 * slices - 1, 32 * slices) * 32;
  int first_c = slice * slice_channels;
  slice_channels = min(slice_channels, group_in - first_c);
  channel = unravel(block, (y_sizes[1] + 31) / 32) * 32;
  corner.y = unravel(block, (y_sizes[3] + 15) / 16) * 16;
  corner.x = unravel(block, (y_sizes[2] + 1) / 2) * 2;
  image = min(block, y_sizes[0] - 1);
  if (block >= y_sizes[0]) corner.x = y_sizes[2];
  halo_columns = 15 * stride[1] + (WINDOW_W - 1) * dilation[1] + 1;
  halo_positions = halo_columns * (1 * stride[0] + (WINDOW_H - 1) * dilation[0] + 1);

  // A subgroup loads eight channels of each position, 32 positions at a time.
  int input_c = lane / 32 * 8;
  for (int position = lane % 32; position < halo_positions; position += 128) {
    uvec4 inputs[4];
    [[unroll]] for (int i = 0; i < 4; i++) inputs[i] = load_inputs(position + 32 * i, first_c + input_c);
    [[unroll]] for (int i = 0; i < 4; i++) {
      if (position + 32 * i < halo_positions) tiles[input_tiles + (position + 32 * i) * 5 + lane / 32] = inputs[i];
    }
  }
  // An invocation loads eight channels of each 32nd row of the weight tile, in the order of the steps.
  int chunks = (group_in + 31) / 32;
  int last_weight = (y_sizes[1] + 31) / 32 * chunks * WINDOW_H * WINDOW_W * 128 - 1;
  int filters_stride = chunks * WINDOW_H * WINDOW_W * 128;
  int weight_at = (channel / 32 * chunks + first_c / 32) * WINDOW_H * WINDOW_W * 128 + lane;
  uvec4 weight0 = weight_vec8_data[min(weight_at + 0 * filters_stride, last_weight)];
  int group = coopmat_subgroup();
  int subgroup_row = group % 2 * 16;
  int subgroup_column = group / 2 * 16;
  CoopMatC sum0_0 = COOPMAT_ZERO;

  int input_stride = stride[1] * 5;
  int pixels0 = input_tiles + ((subgroup_column + 0) / 16 * stride[0] * halo_columns + (subgroup_column + 0) % 16 * stride[1]) * 5;
  uvec4 inputs = uvec4(0);
  int position = lane % 32;
  int input_tile = 0;
  for (int slice_c = 0; slice_c < slice_channels; slice_c += 32) {
    int c = first_c + slice_c;
    for (int tap = 0; tap < WINDOW_H * WINDOW_W; tap++) {
      barrier();
      tiles[weight_tile + (lane / 4 + 0) * 5 + lane % 4] = weight0;
      // The inputs that the previous step loaded; those of its last tap complete the tile of this step.
      if (slice_c + tap > 0 && position < halo_positions) {
        tiles[input_tiles + (tap == 0 ? input_tile : 400 - input_tile) + position * 5 + lane / 32] = inputs;
      }
      barrier();
      position = tap * 32 + lane % 32;
      weight_at += 128;
      weight0 = weight_vec8_data[min(weight_at + 0 * filters_stride, last_weight)];
      if (position < halo_positions) inputs = load_inputs(position, c + 32 + input_c);

      int tap_y = tap / WINDOW_W;
      int tap_at = input_tile + (tap_y * dilation[0] * halo_columns + (tap - tap_y * WINDOW_W) * dilation[1]) * 5;
      {
        CoopMatA a0;
        coopmat_load_a(a0, weight_tile + (0 + subgroup_row) * 5 + 0, 5);
        CoopMatB b0;
        coopmat_load_b_transposed(b0, pixels0 + tap_at + 0, input_stride);
        coopmat_multiply_add(sum0_0, a0, b0);
      }
      {
        CoopMatA a0;
        coopmat_load_a(a0, weight_tile + (0 + subgroup_row) * 5 + 2, 5);
        CoopMatB b0;
        coopmat_load_b_transposed(b0, pixels0 + tap_at + 2, input_stride);
        coopmat_multiply_add(sum0_0, a0, b0);
      }
    }
    input_tile = 400 - input_tile;
  }
  int store_row = subgroup_row + coopmat_lane() / 4;
  int at = group * 80 + coopmat_lane() / 4 * 5 + coopmat_lane() % 4;
  begin_column(subgroup_column + coopmat_lane() % 4 * 4);
  barrier();
  for (int i = 0; i < 1; i++) {
    EpilogueOperands epilogue[2];
    [[unroll]] for (int r = 0; r < 2; r++) epilogue[r] = load_epilogue(16 * i + store_row + r * 8);
    if (i == 0) {
      coopmat_store(sum0_0, group * 80 + 0, 5);
    }
    coopmat_barrier();
    [[unroll]] for (int r = 0; r < 2; r++) store_row4(uintBitsToFloat(tiles[at + r * 40]), 16 * i + store_row + r * 8, epilogue[r]);
    coopmat_barrier();
  }

}
