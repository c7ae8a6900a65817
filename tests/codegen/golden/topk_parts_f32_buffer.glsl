#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int unclamped = workgroup_index();
  int index = min(unclamped, rows * parts - 1);
  int row = index;
  int begin = unravel(row, parts) * 1024;
  for (int k = lane(); k < 1024; k += LANES) {
    int element = begin + k < list_length ? begin + k : count;
    elements[k] = element < count ? x_load(element_index(row, element, count)) : TYPE(0);
    element_indices[k] = element;
  }
  barrier();
  sort_elements(1024);
  for (int i = lane(); i < (unclamped == index ? k : 0); i += LANES) y_store(index * k + i, min(element_indices[i], count));
}
