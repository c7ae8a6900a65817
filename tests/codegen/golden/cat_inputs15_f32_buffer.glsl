#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  int outer = i;
  int within = unravel(outer, run);
  // Empty and absent inputs end where the one before them does.
  int input_index = 0;
  if (within >= ends[0]) input_index++;
  if (within >= ends[1]) input_index++;
  if (within >= ends[2]) input_index++;
  if (within >= ends[3]) input_index++;
  if (within >= ends[4]) input_index++;
  if (within >= ends[5]) input_index++;
  if (within >= ends[6]) input_index++;
  if (within >= ends[7]) input_index++;
  if (within >= ends[8]) input_index++;
  if (within >= ends[9]) input_index++;
  if (within >= ends[10]) input_index++;
  if (within >= ends[11]) input_index++;
  if (within >= ends[12]) input_index++;
  if (within >= ends[13]) input_index++;
  int begin_of_input = input_index > 0 ? ends[input_index - 1] : 0;
  int index = outer * (ends[input_index] - begin_of_input) + within - begin_of_input;
  float value = float(0);
  switch (input_index) {
    case 0: value = tensors_0_load(index); break;
    case 1: value = tensors_1_load(index); break;
    case 2: value = tensors_2_load(index); break;
    case 3: value = tensors_3_load(index); break;
    case 4: value = tensors_4_load(index); break;
    case 5: value = tensors_5_load(index); break;
    case 6: value = tensors_6_load(index); break;
    case 7: value = tensors_7_load(index); break;
    case 8: value = tensors_8_load(index); break;
    case 9: value = tensors_9_load(index); break;
    case 10: value = tensors_10_load(index); break;
    case 11: value = tensors_11_load(index); break;
    case 12: value = tensors_12_load(index); break;
    case 13: value = tensors_13_load(index); break;
    case 14: value = tensors_14_load(index); break;
  }
  y_store(outer * y_run + begin + within, value);
}
