// Included before each source with mutants (cpp_mutants.py).
#ifndef SPIRLOOM_TOOLS_MUTATION_MUTATED_H_
#define SPIRLOOM_TOOLS_MUTATION_MUTATED_H_

#include <cstdlib>

// Returns true for the mutant whose id the environment variable MUTANT has.
inline bool Mutated(int id) {
  static const char* const variable = std::getenv("MUTANT");
  static const int selected = variable == nullptr ? 0 : std::atoi(variable);
  return id == selected;
}

#endif  // SPIRLOOM_TOOLS_MUTATION_MUTATED_H_
