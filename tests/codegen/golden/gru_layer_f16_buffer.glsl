#version 450
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_samplerless_texture_functions : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_GOOGLE_cpp_style_line_directive : require

struct Unit {
  int number;   // of all units of all batches
  int batch;
  int unit;
  int duration; // the steps that the batch takes; what follows is padding
};

// The row of x and y that belongs to a step.
int row_of(Unit u, int number) { return (REVERSE ? u.duration - 1 - number : number) * batch + u.batch; }

// Element k of the batch's state before a step.
float state_before(Unit u, int number, int k) {
  if (number > 0) return y_at(row_of(u, number - 1) * units + k);
  return has_h0 != 0 ? h0_at(u.batch * units + k) : 0.0;
}

float clipped(float v) { return clip > 0.0 ? minimum(maximum(v, -clip), clip) : v; }

// The input's share of the unit's gates.
vec4 from_input(Unit u) {
  int first = row_of(u, step) * units * 3 + u.unit;
  vec4 sum = vec4(0.0);
  sum.x = x_at(first + 0 * units);
  sum.y = x_at(first + 1 * units);
  sum.z = x_at(first + 2 * units);
  return sum;
}

// The state's share of the unit's gates, with their bias.
vec4 from_state(Unit u) {
  vec4 sum = vec4(0.0);
  if (has_bias != 0) {
    sum.x = bias_at(0 * units + u.unit);
    sum.y = bias_at(1 * units + u.unit);
    sum.z = bias_at(2 * units + u.unit);
  }
  if (step == 0 && has_h0 == 0) return sum;
  int first = (step > 0 ? row_of(u, step - 1) : u.batch) * units;
  for (int k = 0; k < units; k++) {
    float state = step > 0 ? y_at(first + k) : h0_at(first + k);
    sum += state * weight_at4(k * units + u.unit);
  }
  return sum;
}


void main() {
  Unit u;
  u.number = flat_index();
  u.batch = u.number;
  u.unit = take(u.batch, units);
  if (u.batch >= batch) return;
  u.duration = has_lengths != 0 ? clamp(lengths_at(u.batch), 1, steps) : steps;
  if (step == steps) {
    h_n_put(u.number, state_before(u, u.duration, u.unit));
  } else if (step >= u.duration) {
    y_put(step * batch * units + u.number, 0.0);
  } else {
    advance(u);
  }
}
