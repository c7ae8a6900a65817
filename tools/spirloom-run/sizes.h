// Shapes of inputs for given sizes of symbols.
#ifndef SPIRLOOM_TOOLS_SPIRLOOM_RUN_SIZES_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_RUN_SIZES_H_

#include <vector>

#include "spirloom/model.h"
#include "tools/spirloom-run/options.h"

namespace spirloom::run {

// Returns the shapes of the model's inputs for the sizes of the options; other symbols have their
// maximum. Fails with kInvalidArgument for an unknown name; the message lists the symbols.
Result<std::vector<Shape>> ShapesOfSizes(const Options& options, const Model& model);

}  // namespace spirloom::run

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_RUN_SIZES_H_
