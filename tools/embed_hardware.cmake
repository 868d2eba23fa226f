# Writes data/hardware as one C++ file, so that the program needs no files beside it.
#   cmake -DFOLDER=data/hardware -DOUTPUT=library_data.cpp -P tools/embed_hardware.cmake
file(GLOB_RECURSE paths RELATIVE ${FOLDER} ${FOLDER}/*.yaml)
list(SORT paths)
list(LENGTH paths count)
set(code "// Made by tools/embed_hardware.cmake from data/hardware.\n#include <array>\n\n#include \"monet/hardware/library.h\"\n\n")
string(APPEND code "namespace monet::hardware {\n\nstd::span<const LibraryFile> library_files() {\n")
string(APPEND code "  static constexpr std::array<LibraryFile, ${count}> kFiles{{\n")
foreach(path IN LISTS paths)
  file(READ ${FOLDER}/${path} text)
  string(APPEND code "      {\"${path}\", R\"MONET~~(${text})MONET~~\"},\n")
endforeach()
string(APPEND code "  }};\n  return kFiles;\n}\n\n}  // namespace monet::hardware\n")
file(WRITE ${OUTPUT} "${code}")
