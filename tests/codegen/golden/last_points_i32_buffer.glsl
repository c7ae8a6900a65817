#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_GOOGLE_cpp_style_line_directive : require

void main() {
  int i = flat_index();
  if (i >= n) return;
  if (step == 0) {
    y_store(i, -1);
    return;
  }
  int row = i;
  int k = unravel(row, count);
  int target = key(row, k);
  if (target != NO_TARGET) atomicMax(y_data[row * targets + target], k);
}
