#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

#define TYPE int
bool before(int a, int i, int b, int j) { return a < b || (a == b && i < j); }

void main() {
  int unclamped = workgroup_index();
  int row = min(unclamped, rows * blocks - 1);
  int begin = unravel(row, blocks) * 1024;
  int size = min(count - begin, 1024);
  for (int k = lane(); k < sort_size(size); k += LANES) {
    elements[k] = k < size ? key(row, begin + k) : 2147483647;
    element_indices[k] = begin + k;
  }
  barrier();
  sort_elements(size);
  for (int k = lane(); k < (unclamped < rows * blocks ? size : 0); k += LANES) {
    y_store(row * count + begin + k, elements[k]);
    y_store((rows + row) * count + begin + k, element_indices[k]);
  }
}
