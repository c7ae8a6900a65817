#ifndef SPIRLOOM_TOOLS_SPIRLOOM_OPS_CATALOG_H_
#define SPIRLOOM_TOOLS_SPIRLOOM_OPS_CATALOG_H_

#include <string_view>

namespace spirloom::tools {

// Spec data of the built-in operators that the registry does not contain: a JSON object with an
// object per operator name, written by codegen/catalog.py. Valid until the program exits.
std::string_view Catalog();

}  // namespace spirloom::tools

#endif  // SPIRLOOM_TOOLS_SPIRLOOM_OPS_CATALOG_H_
