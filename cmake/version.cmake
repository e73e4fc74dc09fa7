# The version that the program prints, with the commit that it was built from and the commit's date.
#
# Included, it gives foreshard_version(OUTPUT VARIABLE): sets VARIABLE to a .cpp that defines cli::program_version(), program_commit() and version_text(),
# and adds the target foreshard_version, which asks git at each build and writes the .cpp only when it differs.
#
# Run (cmake -DVERSION=... -DSOURCE=... -DOUTPUT=... -P cmake/version.cmake), it writes the .cpp. The version stands alone where SOURCE is no
# checkout of its own, such as an unpacked tarball, where git is not there, or where it refuses.
if(NOT CMAKE_SCRIPT_MODE_FILE)
  function(foreshard_version)
    cmake_parse_arguments(ARG "" "OUTPUT" "" ${ARGN})
    set(output ${CMAKE_CURRENT_BINARY_DIR}/version.cpp)
    add_custom_target(foreshard_version
      COMMAND ${CMAKE_COMMAND} -DVERSION=${PROJECT_VERSION} -DSOURCE=${CMAKE_SOURCE_DIR} -DOUTPUT=${output} -P ${CMAKE_SOURCE_DIR}/cmake/version.cmake
      BYPRODUCTS ${output}
      COMMENT "Asking git for the commit"
      VERBATIM)
    set_source_files_properties(${output} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    set(${ARG_OUTPUT} ${output} PARENT_SCOPE)
  endfunction()
  return()
endif()

# A build within a hook or a rebase has the variables of that git.
foreach(variable GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE)
  unset(ENV{${variable}})
endforeach()
set(commit "")
set(hash "")
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE}/.git)
  set(git ${GIT} -C ${SOURCE} --no-optional-locks -c log.showSignature=false)
  execute_process(COMMAND ${git} log -1 --abbrev=8 "--format=%h%n%cs" RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_QUIET)
  execute_process(COMMAND ${git} status --porcelain --untracked-files=no RESULT_VARIABLE unknown OUTPUT_VARIABLE changes ERROR_QUIET)
  if(failed EQUAL 0 AND unknown EQUAL 0 AND said MATCHES "^([0-9a-f]+)\n([0-9-]+)\n$")
    set(hash ${CMAKE_MATCH_1})
    set(date ${CMAKE_MATCH_2})
    if(changes)
      string(APPEND hash "-dirty")
    endif()
    set(commit " (${hash}, ${date})")
  endif()
endif()

set(text "// Written by cmake/version.cmake.\n#include \"cli/commands/command.hpp\"\n\n")
string(APPEND text "const char* cli::program_version() { return \"${VERSION}\"; }\n")
string(APPEND text "const char* cli::program_commit() { return \"${hash}\"; }\n")
string(APPEND text "const char* cli::version_text() { return \"foreshard ${VERSION}${commit}\"; }\n")
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "${text}" @ONLY)  # writes when it differs
