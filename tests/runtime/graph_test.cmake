# graph_test: tests that require neither a device nor a driver. In a separate file because
# tests/package/host_32_bit also includes it, to build it for another machine.
set(graph "${CMAKE_CURRENT_LIST_DIR}/graph")
set(support "${CMAKE_CURRENT_LIST_DIR}/../support")
spirloom_add_shader_library(fake_shaders
  FUNCTION FakeShaders
  SPEC_DIRS "${support}/fake_library/op_specs"
  TEMPLATE_DIRS "${support}/fake_library/templates")
add_executable(graph_test
  "${CMAKE_CURRENT_LIST_DIR}/base/mapped_file_test.cpp"
  $<$<NOT:$<PLATFORM_ID:Windows>>:${CMAKE_CURRENT_LIST_DIR}/base/mapped_file_permission_test.cpp>
  "${graph}/constants/constant_pool_test.cpp"
  "${graph}/file/graph_contents_test.cpp"
  "${graph}/file/graph_loader_test.cpp"
  "${graph}/file/specialize_test.cpp"
  "${graph}/memory/memory_planner_test.cpp"
  "${graph}/plan/buffer_aliasing_test.cpp"
  "${graph}/plan/compile_test.cpp"
  "${graph}/plan/lowering_errors_test.cpp"
  "${graph}/plan/lowering_test.cpp"
  "${graph}/plan/plan_execution_test.cpp"
  "${graph}/plan/plan_specializer_test.cpp"
  "${graph}/plan/states_test.cpp"
  "${graph}/plan/tuning_test.cpp"
  "${graph}/record/barrier_tracker_test.cpp"
  "${graph}/record/dispatch_test.cpp"
  "${graph}/record/run_segments_test.cpp"
  "${support}/fake_library/fake_library.cpp"
  "${support}/graph_file_builder.cpp"
  "${support}/random_graph.cpp"
  "${support}/small_graph.cpp")
target_include_directories(graph_test PRIVATE "${CMAKE_CURRENT_LIST_DIR}/../..")
target_link_libraries(graph_test PRIVATE
  spirloom_warnings fake_shaders spirloom_graph_schema spirloom_internals Vulkan::Headers
  GTest::gtest GTest::gmock GTest::gtest_main)
