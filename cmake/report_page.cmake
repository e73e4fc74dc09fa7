# The page of the HTML report: TypeScript, built by npm and Vite in the build directory and compiled in.
#
# FORESHARD_REPORT: AUTO builds it where npm and Node.js 18 are there, and goes on without it where they are missing or fail; ON insists; OFF
# leaves it out. Without the page everything but --report works.
#
# foreshard_report_page(OUTPUT VARIABLE): sets VARIABLE to the .cpp that defines reports::built_page().
set(FORESHARD_REPORT AUTO CACHE STRING "Build the page of HTML reports with npm: AUTO, ON or OFF")
set_property(CACHE FORESHARD_REPORT PROPERTY STRINGS AUTO ON OFF)

function(foreshard_report_page)
  cmake_parse_arguments(ARG "" "OUTPUT" "" ${ARGN})
  set(output ${CMAKE_CURRENT_BINARY_DIR}/built_page.cpp)
  set(${ARG_OUTPUT} ${output} PARENT_SCOPE)
  set(source ${CMAKE_SOURCE_DIR}/reports/html/page)
  set(why_not "")
  if(FORESHARD_REPORT STREQUAL "OFF")
    set(why_not "FORESHARD_REPORT is OFF")
  else()
    find_program(NPM npm)
    find_program(NODE node)
    if(NOT NPM OR NOT NODE)
      set(why_not "npm is not here (Debian packages nodejs and npm)")
    else()
      execute_process(COMMAND ${NODE} --version OUTPUT_VARIABLE version OUTPUT_STRIP_TRAILING_WHITESPACE)
      string(REGEX REPLACE "^v" "" version "${version}")
      if(version VERSION_LESS 18)
        set(why_not "Node.js is ${version}, and 18 is needed")
      endif()
    endif()
  endif()
  if(why_not)
    if(FORESHARD_REPORT STREQUAL "ON")
      message(FATAL_ERROR "FORESHARD_REPORT is ON, but ${why_not}")
    endif()
    message(STATUS "No HTML reports: ${why_not}")
    # Under another name: the page of a build that had npm before would count as built.
    set(output ${CMAKE_CURRENT_BINARY_DIR}/no_page.cpp)
    set(${ARG_OUTPUT} ${output} PARENT_SCOPE)
    file(CONFIGURE OUTPUT ${output} CONTENT "#include \"reports/html/built_page.hpp\"\n\nnamespace reports {\n\nstd::string_view built_page() { return {}; }\n\n}  // namespace reports\n")
    return()
  endif()
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${source}/src/*)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DNPM=${NPM} -DNODE=${NODE} -DSOURCE=${source} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/page -DOUTPUT=${output}
            -DMODE=${FORESHARD_REPORT} -P ${CMAKE_SOURCE_DIR}/cmake/build_report_page.cmake
    DEPENDS ${sources} ${source}/package.json ${source}/package-lock.json ${source}/tsconfig.json ${source}/vite.config.js ${source}/index.html
            ${CMAKE_SOURCE_DIR}/cmake/build_report_page.cmake
    COMMENT "Building the page of HTML reports"
    VERBATIM)
  set_source_files_properties(${output} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()
