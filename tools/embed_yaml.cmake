# Writes the YAML files of a folder as one C++ file, so that the program needs no files beside it.
#   cmake -DFOLDER=data/hardware -DFUNCTION=library_files -DOUTPUT=hardware_library.cpp -P tools/embed_yaml.cmake
file(GLOB_RECURSE paths RELATIVE ${FOLDER} ${FOLDER}/*.yaml)
list(SORT paths)
list(LENGTH paths count)
set(code "// Made by tools/embed_yaml.cmake.\n#include <array>\n\n#include \"monet/hardware/space.h\"\n\n")
string(APPEND code "namespace monet::hardware {\n\nstd::span<const LibraryFile> ${FUNCTION}() {\n")
string(APPEND code "  static constexpr std::array<LibraryFile, ${count}> kFiles{{\n")
foreach(path IN LISTS paths)
  file(READ ${FOLDER}/${path} text)
  string(APPEND code "      {\"${path}\", R\"MONET~~(${text})MONET~~\"},\n")
endforeach()
string(APPEND code "  }};\n  return kFiles;\n}\n\n}  // namespace monet::hardware\n")
file(WRITE ${OUTPUT} "${code}")
