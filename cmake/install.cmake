# cmake --install and the Debian package: the program, its manual page and completion, which it prints itself, and its documents.
include(GNUInstallDirs)

set(made ${CMAKE_BINARY_DIR}/installed)
add_custom_command(
  OUTPUT ${made}/foreshard.1 ${made}/foreshard.bash ${made}/_foreshard
  COMMAND ${CMAKE_COMMAND} -E make_directory ${made}
  COMMAND foreshard man > ${made}/foreshard.1
  COMMAND foreshard completion bash > ${made}/foreshard.bash
  COMMAND foreshard completion zsh > ${made}/_foreshard
  DEPENDS foreshard
  VERBATIM)
add_custom_target(foreshard_help ALL DEPENDS ${made}/foreshard.1 ${made}/foreshard.bash ${made}/_foreshard)

install(TARGETS foreshard RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${made}/foreshard.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${made}/foreshard.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME foreshard)
install(FILES ${made}/_foreshard DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md" PATTERN "*.png" PATTERN "*.svg")
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
file(GLOB questions CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/scenarios/*.yaml)
install(FILES ${questions} DESTINATION ${CMAKE_INSTALL_DOCDIR}/scenarios)
install(DIRECTORY scenarios/files DESTINATION ${CMAKE_INSTALL_DOCDIR}/scenarios)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_CONTACT "Foreshard")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Forecasts and plans of parallel training on GPU clusters")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_STRIP_FILES ON)
include(CPack)
