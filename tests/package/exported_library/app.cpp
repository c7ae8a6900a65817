#include "spirloom/runtime.h"

bool AppCreatesRuntime() { return spirloom::Runtime::Create({}).ok(); }
