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
#define LOG2_E 1.4426950408889634
layout(set = 0, binding = 0, std430) readonly buffer query_vec8s { uvec4 query_vec8_data[]; };
layout(set = 0, binding = 1, std430) readonly buffer key_vec8s { uvec4 key_vec8_data[]; };
layout(set = 0, binding = 2, std430) readonly buffer value_vec8s { uvec4 value_vec8_data[]; };

// Eight fp16 or four fp32 values each: keys and values of a block (first the queries), then scores
// and weights of each subgroup's 16 queries. The scores' region is reused for the rescale divisors,
// 16 copies per query.
shared uvec4 tiles[1984];
shared vec2 sums[64];  // per query, sums of weights of both halves of the keys
