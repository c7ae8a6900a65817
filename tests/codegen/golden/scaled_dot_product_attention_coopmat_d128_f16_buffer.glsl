#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_GOOGLE_cpp_style_line_directive : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_NV_cooperative_matrix : require
AttentionHead head_of_workgroup(int block_rows) {
  AttentionHead h;
  int batch = workgroup_index();
  h.first_query = unravel(batch, (queries + block_rows - 1) / block_rows) * block_rows;
  h.inside = batch * queries < rows;
  if (!h.inside) batch = 0;
  int head = unravel(batch, heads);
  int kv_head = divide(head, gqa_group);
  h.depth = depth;
  h.width = width;
  h.query_offset = HEAD_OFFSET(query_strides, batch, head);
  h.key_offset = HEAD_OFFSET(key_strides, batch, kv_head);
  h.value_offset = HEAD_OFFSET(value_strides, batch, kv_head);
  h.y_offset = HEAD_OFFSET(y_strides, batch, head);
  h.query_stride = query_strides[3];
  h.key_stride = key_strides[3];
  h.value_stride = value_strides[3];
  h.y_stride = y_strides[3];
  h.keys_begin = 0;
  h.keys_end = is_causal != 0 ? min(h.first_query + block_rows, keys) : keys;
  h.mask_offset = batch * mask_strides[0] + head * mask_strides[1];
  return h;
}

ivec2 visible_keys(AttentionHead head, int query) { return ivec2(0, is_causal != 0 ? min(query + 1, keys) : keys); }

bool is_partly_visible(AttentionHead head, int begin, int count) {
  return has_mask != 0 || begin + count > visible_keys(head, head.first_query).y;
}

vec4 scaled(vec4 scores) { return scores * ((scale != 0.0 ? scale : inversesqrt(float(depth))) * LOG2_E); }

vec4 masked(AttentionHead head, vec4 scores, ivec4 key, int query) {
  if (has_mask == 0) return scores;
  ivec4 at = head.mask_offset + query * mask_strides[2] + min(key, keys - 1) * mask_strides[3];
  return scores + vec4(attn_mask_load(at.x), attn_mask_load(at.y), attn_mask_load(at.z), attn_mask_load(at.w)) * LOG2_E;
}

