// Includes the headers as users of a shared runtime do.
#include "spirloom/library.h"
#include "spirloom/log.h"
#include "spirloom/model.h"
#include "spirloom/vulkan.h"
