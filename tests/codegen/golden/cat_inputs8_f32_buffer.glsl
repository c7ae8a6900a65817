#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int outer = i;
  int within = unravel(outer, run);
  float value = float(0);
  // Of empty and absent inputs, the first element is not before the end.
  int begin_of_input = 0;
  if (within >= begin_of_input && within < ends[0]) {
    value = tensors_0_load(outer * (ends[0] - begin_of_input) + within - begin_of_input);
  }
  begin_of_input = ends[0];
  if (within >= begin_of_input && within < ends[1]) {
    value = tensors_1_load(outer * (ends[1] - begin_of_input) + within - begin_of_input);
  }
  begin_of_input = ends[1];
  if (within >= begin_of_input && within < ends[2]) {
    value = tensors_2_load(outer * (ends[2] - begin_of_input) + within - begin_of_input);
  }
  begin_of_input = ends[2];
  if (within >= begin_of_input && within < ends[3]) {
    value = tensors_3_load(outer * (ends[3] - begin_of_input) + within - begin_of_input);
  }
  begin_of_input = ends[3];
  if (within >= begin_of_input && within < ends[4]) {
    value = tensors_4_load(outer * (ends[4] - begin_of_input) + within - begin_of_input);
  }
  begin_of_input = ends[4];
  if (within >= begin_of_input && within < ends[5]) {
    value = tensors_5_load(outer * (ends[5] - begin_of_input) + within - begin_of_input);
  }
  begin_of_input = ends[5];
  if (within >= begin_of_input && within < ends[6]) {
    value = tensors_6_load(outer * (ends[6] - begin_of_input) + within - begin_of_input);
  }
  begin_of_input = ends[6];
  if (within >= begin_of_input && within < ends[7]) {
    value = tensors_7_load(outer * (ends[7] - begin_of_input) + within - begin_of_input);
  }
  begin_of_input = ends[7];
  y_store(outer * y_run + begin + within, value);
}
