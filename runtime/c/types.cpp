#include "spirloom/types.h"

#include "runtime/c/enums.h"
#include "spirloom/spirloom.h"

size_t spirloom_dtype_size(spirloom_dtype dtype) {
  const auto known = spirloom::c::FromC(dtype);
  return known ? spirloom::ElementSize(*known) : 0;
}

const char* spirloom_dtype_name(spirloom_dtype dtype) {
  const auto known = spirloom::c::FromC(dtype);
  return known ? spirloom::LongName(*known) : "unknown";
}

const char* spirloom_storage_name(spirloom_storage storage) {
  const auto known = spirloom::c::FromC(storage);
  return known ? spirloom::Name(*known) : "unknown";
}
