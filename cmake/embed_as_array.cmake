# cmake -DINPUT=file -DOUTPUT=file.cpp -DSYMBOL=name -P embed_as_array.cmake
#
# Writes the bytes of INPUT as a C++ array (see SpirloomEmbed.cmake).
foreach(variable IN ITEMS INPUT OUTPUT SYMBOL)
  if(NOT DEFINED ${variable})
    message(FATAL_ERROR "embed_as_array.cmake: ${variable} is required.")
  endif()
endforeach()
file(READ "${INPUT}" bytes HEX)
string(LENGTH "${bytes}" digits)
math(EXPR size "${digits} / 2")
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(CONFIGURE OUTPUT "${OUTPUT}" @ONLY CONTENT [[
// Generated: the bytes and the size of a shader pack.
#include <cstdint>
extern "C" {
extern const unsigned char @SYMBOL@[];
extern const uint64_t @SYMBOL@_size;
}
alignas(64) const unsigned char @SYMBOL@[] = {
@bytes@};
const uint64_t @SYMBOL@_size = @size@;
]])
