// Headers of most tests, precompiled in release builds (tests/CMakeLists.txt). Other builds compile
// without it, so that missing includes are errors there.
#ifndef SPIRLOOM_TESTS_PRECOMPILED_H_
#define SPIRLOOM_TESTS_PRECOMPILED_H_

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <ranges>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#endif  // SPIRLOOM_TESTS_PRECOMPILED_H_
