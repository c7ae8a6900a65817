# graph_test: what needs neither a device nor a driver. In a file of its own because
# tests/package/host_32_bit builds it for another machine, too.
set(unit "${CMAKE_CURRENT_LIST_DIR}")
spirloom_add_shader_library(fake_shaders
  FUNCTION FakeShaders
  SPEC_DIRS "${unit}/fake_library/op_specs"
  TEMPLATE_DIRS "${unit}/fake_library/templates")
add_executable(graph_test
  "${unit}/barrier_tracker_test.cpp"
  "${unit}/constant_pool_test.cpp"
  "${unit}/dispatch_test.cpp"
  "${unit}/fake_library/fake_library.cpp"
  "${unit}/graph_contents_test.cpp"
  "${unit}/graph_file_builder.cpp"
  "${unit}/graph_loader_test.cpp"
  "${unit}/lowering_test.cpp"
  "${unit}/mapped_file_test.cpp"
  "${unit}/memory_planner_test.cpp"
  "${unit}/parts_test.cpp"
  "${unit}/sizes_test.cpp"
  "${unit}/small_graph.cpp"
  "${unit}/states_test.cpp"
  "${unit}/tuning_test.cpp")
target_include_directories(graph_test PRIVATE "${unit}/../..")
target_link_libraries(graph_test PRIVATE
  spirloom_warnings fake_shaders spirloom_graph_schema spirloom_internals Vulkan::Headers
  GTest::gtest GTest::gmock GTest::gtest_main)
