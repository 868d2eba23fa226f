# Writes files as C++ functions that give their bytes, so that the program needs no files beside it.
#   cmake "-DINPUTS=a.gz;b.gz" "-DFUNCTIONS=a_data;b_data" -DHEADER=monet/verbs/validation_data.h -DOUTPUT=x.cpp -P tools/embed_bytes.cmake
set(text "// Made by tools/embed_bytes.cmake.\n#include \"${HEADER}\"\n\nnamespace monet {\n")
foreach(input function IN ZIP_LISTS INPUTS FUNCTIONS)
  file(READ ${input} hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR bytes "${digits} / 2")
  # Sixteen bytes a line.
  string(REPEAT "[0-9a-f]" 32 line)
  string(REGEX REPLACE "(${line})" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," hex "${hex}")
  string(APPEND text "\nstd::string_view ${function}() {\n  static constexpr char kBytes[] = {\n${hex}};\n  return {kBytes, ${bytes}};\n}\n")
endforeach()
file(WRITE ${OUTPUT} "${text}\n}  // namespace monet\n")
