# Writes one text file as a C++ function, so that the program needs no files beside it.
#   cmake -DINPUT=data/validation/zigzag.json -DFUNCTION=zigzag_validation_data -DHEADER=monet/verbs/validation_data.h
#         -DOUTPUT=validation_data.cpp -P tools/embed_text.cmake
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "// Made by tools/embed_text.cmake.\n#include \"${HEADER}\"\n\nnamespace monet {\n\nstd::string_view ${FUNCTION}() { return R\"MONET~~(${text})MONET~~\"; }\n\n}  // namespace monet\n")
