#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int unclamped_row = workgroup_index();
  int row = min(unclamped_row, rows - 1);
  int size = sort_size(list_length);
  for (int k = lane(); k < size; k += LANES) {
    int element = k < list_length ? candidates_load(row * list_length + k) : count;
    elements[k] = element < count ? x_load(element_index(row, element, count)) : TYPE(0);
    element_indices[k] = element;
  }
  barrier();
  sort_elements(list_length);
  for (int k = lane(); k < (unclamped_row == row ? output_count : 0); k += LANES) {
    int at = element_index(row, k, output_count);
    values_store(at, elements[k]);
    indices_store(at, element_indices[k]);
  }
}
