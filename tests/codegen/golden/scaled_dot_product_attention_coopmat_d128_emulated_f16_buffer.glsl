#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#define LOG2_E 1.4426950408889634
layout(set = 0, binding = 0, std430) readonly buffer query_vec8s { uvec4 query_vec8_data[]; };
layout(set = 0, binding = 1, std430) readonly buffer key_vec8s { uvec4 key_vec8_data[]; };
layout(set = 0, binding = 2, std430) readonly buffer value_vec8s { uvec4 value_vec8_data[]; };

// Scores (32 x 32 floats), fp16 weights, and 16 copies of the divisor of each query;
// at the end 16 x 32 elements of y per subgroup.
shared uvec4 tiles[576];
shared float lane_values[64];

// Over the 2 invocations of a query.
float max_of_query(float v) {
  int lane = int(gl_LocalInvocationID.x);
  barrier();
  lane_values[lane] = v;
  barrier();
  int first = lane / 2 * 2;
  v = lane_values[first];
  for (int i = 1; i < 2; i++) {
    float other = lane_values[first + i];
    v = max(v, other);
  }
  return v;
}
// Over the 2 invocations of a query.
float sum_of_query(float v) {
  int lane = int(gl_LocalInvocationID.x);
  barrier();
  lane_values[lane] = v;
  barrier();
  int first = lane / 2 * 2;
  v = lane_values[first];
  for (int i = 1; i < 2; i++) {
    float other = lane_values[first + i];
    v = v + other;
  }
  return v;
}

void store_divisor(int row, int part, float divisor) {
  for (int i = part; i < 4; i += 2) {
    tiles[448 + row * 4 + i] = uvec4(floatBitsToUint(divisor));
  }
}

void main() {
  int lane = int(gl_LocalInvocationID.x);
  int group = coopmat_subgroup();
  int batch = workgroup_index();
  int first_query = unravel(batch, (queries + 31) / 32) * 32;
  bool inside = batch * queries < rows;
  if (!inside) batch = 0;
  int head = unravel(batch, heads);
  int kv_head = divide(head, gqa_group);
  int end = is_causal != 0 ? min(first_query + 32, keys) : keys;
  float factor = (scale != 0.0 ? scale : inversesqrt(float(depth))) * LOG2_E;
  int query_stride = query_strides[3] / 8;
  int key_stride = key_strides[3] / 8;
  int value_stride = value_strides[3] / 8;
  int query0 = HEAD_OFFSET(query_strides, batch, head) / 8 + min(first_query, queries - 16) * query_stride;
  int query1 = HEAD_OFFSET(query_strides, batch, head) / 8 + min(first_query + 16, queries - 16) * query_stride;
  int first_key = HEAD_OFFSET(key_strides, batch, kv_head) / 8;
  int first_value = HEAD_OFFSET(value_strides, batch, kv_head) / 8 + group * 8;
  // 2 invocations share a query: each processes one tile of a block's keys.
  int row = lane / 2;
  int part = lane % 2;
  int query = min(first_query + row / 16 * 16, queries - 16) + row % 16;
  int visible_keys = is_causal != 0 ? min(query + 1, keys) : keys;
  int mask_row = batch * mask_strides[0] + head * mask_strides[1] + query * mask_strides[2];
  float running_max = -INF;
  float sum = 0.0;
  CoopMatC total0_0 = COOPMAT_ZERO;
  CoopMatC total0_1 = COOPMAT_ZERO;
  CoopMatC total0_2 = COOPMAT_ZERO;
  CoopMatC total0_3 = COOPMAT_ZERO;
  CoopMatC total1_0 = COOPMAT_ZERO;
  CoopMatC total1_1 = COOPMAT_ZERO;
  CoopMatC total1_2 = COOPMAT_ZERO;
  CoopMatC total1_3 = COOPMAT_ZERO;
  for (int begin = 0; begin < end; begin += 32) {
    int key_tile = begin + 16 * group;
    if (key_tile < end) {
      int key = first_key + min(key_tile, keys - 16) * key_stride;
      CoopMatC score0 = COOPMAT_ZERO;
      CoopMatC score1 = COOPMAT_ZERO;
      for (int d = 0; d < depth / 8; d += 2) {
        CoopMatB keys_d;
        CoopMatA query_d;
        coopmat_load_b_transposed_from(key_vec8_data, keys_d, key + d, key_stride);
        coopmat_load_a_from(query_vec8_data, query_d, query0 + d, query_stride);
        coopmat_multiply_add(score0, query_d, keys_d);
        coopmat_load_a_from(query_vec8_data, query_d, query1 + d, query_stride);
        coopmat_multiply_add(score1, query_d, keys_d);
      }
      coopmat_store(score0, 4 * group, 9);
      coopmat_store(score1, 144 + 4 * group, 9);
    }
    barrier();
    int own_tile = begin + 16 * part;
    int own_key = min(own_tile, keys - 16);
    vec4 weights[4];
    float next_max = running_max;
    [[unroll]] for (int c = 0; c < 4; c++) {
      vec4 s = uintBitsToFloat(tiles[row * 9 + 4 * part + c]) * factor;
      [[unroll]] for (int e = 0; e < 4; e++) {
        int at = own_key + 4 * c + e;
        bool visible = at >= own_tile && at < visible_keys;
        if (visible && has_mask != 0) s[e] += attn_mask_load(mask_row + at * mask_strides[3]) * LOG2_E;
        s[e] = visible ? s[e] : -INF;
        next_max = max(next_max, s[e]);
      }
      weights[c] = s;
    }
    next_max = max_of_query(next_max);
    // All keys so far are masked: any finite base avoids NaN (-INF - -INF).
    float base = next_max == -INF ? 0.0 : next_max;
    float rescale_divisor = min(exp2(base - running_max), 1e30);
    running_max = next_max;
    sum /= rescale_divisor;
    [[unroll]] for (int c = 0; c < 4; c++) {
      weights[c] = exp2(weights[c] - base);
      sum += dot(weights[c], vec4(1.0));
    }
    [[unroll]] for (int c = 0; c < 4; c += 2) {
      tiles[288 + row * 5 + 2 * part + c / 2] =
          uvec4(packHalf2x16(weights[c].xy), packHalf2x16(weights[c].zw), packHalf2x16(weights[c + 1].xy), packHalf2x16(weights[c + 1].zw));
    }
    store_divisor(row, part, rescale_divisor);
    barrier();
  {
    CoopMatC divisor;
    coopmat_load_c(divisor, 448, 4);
    coopmat_divide(total0_0, divisor);
    coopmat_divide(total0_1, divisor);
    coopmat_divide(total0_2, divisor);
    coopmat_divide(total0_3, divisor);
  }
  {
    CoopMatC divisor;
    coopmat_load_c(divisor, 512, 4);
    coopmat_divide(total1_0, divisor);
    coopmat_divide(total1_1, divisor);
    coopmat_divide(total1_2, divisor);
    coopmat_divide(total1_3, divisor);
  }

    if (64 * group < width) {
      for (int p = 0; p < 2; p++) {
        if (begin + 16 * p >= end) break;
        int value = first_value + min(begin + 16 * p, keys - 16) * value_stride;
        CoopMatA weights0, weights1;
        coopmat_load_a(weights0, 288 + 2 * p, 5);
        coopmat_load_a(weights1, 368 + 2 * p, 5);
        if (64 * group + 0 < width) {
          CoopMatB values_d;
          coopmat_load_b_from(value_vec8_data, values_d, value + 0, value_stride);
          coopmat_multiply_add(total0_0, weights0, values_d);
          coopmat_multiply_add(total1_0, weights1, values_d);
        }
        if (64 * group + 16 < width) {
          CoopMatB values_d;
          coopmat_load_b_from(value_vec8_data, values_d, value + 2, value_stride);
          coopmat_multiply_add(total0_1, weights0, values_d);
          coopmat_multiply_add(total1_1, weights1, values_d);
        }
        if (64 * group + 32 < width) {
          CoopMatB values_d;
          coopmat_load_b_from(value_vec8_data, values_d, value + 4, value_stride);
          coopmat_multiply_add(total0_2, weights0, values_d);
          coopmat_multiply_add(total1_2, weights1, values_d);
        }
        if (64 * group + 48 < width) {
          CoopMatB values_d;
          coopmat_load_b_from(value_vec8_data, values_d, value + 6, value_stride);
          coopmat_multiply_add(total0_3, weights0, values_d);
          coopmat_multiply_add(total1_3, weights1, values_d);
        }
      }
    }
  }
  // The maximum score contributes 1 to the sum; the sum is 0 only if all keys are masked, and then
  // y is 0.
  sum = sum_of_query(sum);
  barrier();
  store_divisor(row, part, sum == 0.0 ? 1.0 : sum);
  barrier();
  {
    CoopMatC divisor;
    coopmat_load_c(divisor, 448, 4);
    coopmat_divide(total0_0, divisor);
    coopmat_divide(total0_1, divisor);
    coopmat_divide(total0_2, divisor);
    coopmat_divide(total0_3, divisor);
  }
  {
    CoopMatC divisor;
    coopmat_load_c(divisor, 512, 4);
    coopmat_divide(total1_0, divisor);
    coopmat_divide(total1_1, divisor);
    coopmat_divide(total1_2, divisor);
    coopmat_divide(total1_3, divisor);
  }

  barrier();
  coopmat_store(total0_0, group * 144 + 0, 9);
  coopmat_store(total0_1, group * 144 + 4, 9);
  barrier();
  for (int i = coopmat_lane(); i < 16 * 8; i += 32) {
    int at = min(first_query + 0, queries - 16) + i / 8;
    int column = 64 * group + 0 + i % 8 * 4;
    if (!inside || at < first_query + 0 || column >= width) continue;
    y_store4((HEAD_OFFSET(y_strides, batch, head) + at * y_strides[3] + column) / 4, uintBitsToFloat(tiles[group * 144 + i / 8 * 9 + i % 8]));
  }
  barrier();
  coopmat_store(total0_2, group * 144 + 0, 9);
  coopmat_store(total0_3, group * 144 + 4, 9);
  barrier();
  for (int i = coopmat_lane(); i < 16 * 8; i += 32) {
    int at = min(first_query + 0, queries - 16) + i / 8;
    int column = 64 * group + 32 + i % 8 * 4;
    if (!inside || at < first_query + 0 || column >= width) continue;
    y_store4((HEAD_OFFSET(y_strides, batch, head) + at * y_strides[3] + column) / 4, uintBitsToFloat(tiles[group * 144 + i / 8 * 9 + i % 8]));
  }
  barrier();
  coopmat_store(total1_0, group * 144 + 0, 9);
  coopmat_store(total1_1, group * 144 + 4, 9);
  barrier();
  for (int i = coopmat_lane(); i < 16 * 8; i += 32) {
    int at = min(first_query + 16, queries - 16) + i / 8;
    int column = 64 * group + 0 + i % 8 * 4;
    if (!inside || at < first_query + 16 || column >= width) continue;
    y_store4((HEAD_OFFSET(y_strides, batch, head) + at * y_strides[3] + column) / 4, uintBitsToFloat(tiles[group * 144 + i / 8 * 9 + i % 8]));
  }
  barrier();
  coopmat_store(total1_2, group * 144 + 0, 9);
  coopmat_store(total1_3, group * 144 + 4, 9);
  barrier();
  for (int i = coopmat_lane(); i < 16 * 8; i += 32) {
    int at = min(first_query + 16, queries - 16) + i / 8;
    int column = 64 * group + 32 + i % 8 * 4;
    if (!inside || at < first_query + 16 || column >= width) continue;
    y_store4((HEAD_OFFSET(y_strides, batch, head) + at * y_strides[3] + column) / 4, uintBitsToFloat(tiles[group * 144 + i / 8 * 9 + i % 8]));
  }
}
