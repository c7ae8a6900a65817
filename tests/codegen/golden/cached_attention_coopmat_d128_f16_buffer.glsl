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
  int head = unravel(batch, heads);
  h.inside = batch * heads * queries < rows;
  if (!h.inside) batch = 0;
  int kv_head = divide(head, gqa_group);
  h.depth = depth;
  h.width = depth;
  h.query_offset = (heads_first != 0 ? (batch * heads + head) * queries : batch * queries * heads + head) * depth;
  h.query_stride = heads_first != 0 ? depth : heads * depth;
  h.y_offset = h.query_offset;
  h.y_stride = h.query_stride;
  h.key_offset = (heads_first != 0 ? (batch * kv_heads + kv_head) * capacity : batch * capacity * kv_heads + kv_head) * depth;
  h.key_stride = heads_first != 0 ? depth : kv_heads * depth;
  h.value_offset = h.key_offset;
  h.value_stride = h.key_stride;
  h.keys_begin = window > 0 ? max(positions_load(0) + h.first_query - window + 1, 0) : 0;
  // Rows of the cache from here on may be uninitialized.
  h.keys_end = min(positions_load(0) + min(h.first_query + block_rows, queries), capacity);
  return h;
}

ivec2 visible_keys(AttentionHead head, int query) {
  int position = positions_load(0) + query;
  return ivec2(window > 0 ? position - window + 1 : 0, min(position + 1, capacity));
}

bool is_partly_visible(AttentionHead head, int begin, int count) {
  return window > 0 || begin + count > visible_keys(head, head.first_query).y;
}

vec4 scaled(vec4 scores) {
  scores *= scale != 0.0 ? scale : inversesqrt(float(depth));
  if (CAPPED) scores = vec4(capped(scores.x), capped(scores.y), capped(scores.z), capped(scores.w));
  return scores * LOG2_E;
}

vec4 masked(AttentionHead head, vec4 scores, ivec4 key, int query) { return scores; }

