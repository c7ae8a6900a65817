#ifndef SPIRLOOM_TOOLS_SPIRLOOM_OPS_CATALOGUE_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_OPS_CATALOGUE_H_

#include <string_view>

namespace spirloom::tools {

// What the specs say of this build's operators beyond the registry: JSON, an object for each by
// name, as codegen/catalog.py writes it. Lives as long as the program.
std::string_view Catalogue();

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_OPS_CATALOGUE_H_
