# Build step behind EmbedFiles.cmake: writes OUTPUT from the files named, one a line, in LIST.
file(STRINGS "${LIST}" files)
string(REGEX REPLACE "::[^:]*$" "" namespace "${FUNCTION}")
string(REGEX REPLACE "^.*::" "" function "${FUNCTION}")

# A bracket or semicolon would be split by CMake's lists, so the text goes straight into file(APPEND).
file(WRITE "${OUTPUT}.new" "#include \"${HEADER}\"\n\nnamespace ${namespace} {\nnamespace {\n\n")
file(APPEND "${OUTPUT}.new" "constexpr EmbeddedFile kFiles[] = {\n")
foreach(path IN LISTS files)
  file(RELATIVE_PATH name "${ROOT}" "${path}")
  file(READ "${path}" text)
  file(APPEND "${OUTPUT}.new" "    {\"${name}\",\n     R\"tilewright(")
  file(APPEND "${OUTPUT}.new" "${text}")
  file(APPEND "${OUTPUT}.new" ")tilewright\"},\n")
endforeach()
file(APPEND "${OUTPUT}.new" "};\n\n}  // namespace\n\n")
file(APPEND "${OUTPUT}.new"
  "std::span<const EmbeddedFile> ${function}() { return kFiles; }\n\n}  // namespace ${namespace}\n")
file(RENAME "${OUTPUT}.new" "${OUTPUT}")
