# A member whose sources have a line that is wrong, and which the faults and attacks of chaos.py and hostile.py must find
# out. All lines are in one program, beside the right ones; the environment chooses.

set(TWIN_FILES "")

# twin_line(name file old new): the old line stands exactly once in src/`file`; the new one may be chosen by
# `twin("name")`. A twin may have several lines.
function(twin_line name file old new)
  set(original ${CMAKE_SOURCE_DIR}/src/${file})
  string(MAKE_C_IDENTIFIER ${file} id)
  if(NOT DEFINED TWIN_TEXT_${id})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${original})
    file(READ ${original} TWIN_TEXT_${id})
    list(APPEND TWIN_FILES ${file})
    set(TWIN_FILES ${TWIN_FILES} PARENT_SCOPE)
  endif()
  set(text "${TWIN_TEXT_${id}}")
  string(FIND "${text}" "${old}" first)
  string(FIND "${text}" "${old}" last REVERSE)
  if(first EQUAL -1 OR NOT first EQUAL last)
    message(FATAL_ERROR "broken twin ${name}: this line must stand exactly once in ${original}:\n${old}")
  endif()
  string(REPLACE "twin(\"" "chaos::twin(\"" new "${new}")
  string(REPLACE "${old}" "${new}" text "${text}")
  set(TWIN_TEXT_${id} "${text}" PARENT_SCOPE)
endfunction()

include(${CMAKE_CURRENT_LIST_DIR}/twin_lines.cmake)

# A file in front of the library's, which the linker then leaves out; a header in front of the folder's.
set(copies ${CMAKE_CURRENT_BINARY_DIR}/chaos_twins)
set(TWIN_SOURCES "")
foreach(file ${TWIN_FILES} ${TWIN_USERS})
  string(MAKE_C_IDENTIFIER ${file} id)
  if(DEFINED TWIN_TEXT_${id})
    set(text "${TWIN_TEXT_${id}}")
    if(file MATCHES "\\.hpp$")
      string(REPLACE "#pragma once\n" "#pragma once\n#include \"chaos/twin.hpp\"\n" text "${text}")
    else()
      set(text "#include \"chaos/twin.hpp\"\n${text}")
    endif()
    file(CONFIGURE OUTPUT ${copies}/${file} CONTENT "@text@" @ONLY)
    if(file MATCHES "\\.cpp$")
      list(APPEND TWIN_SOURCES ${copies}/${file})
    endif()
  else()
    list(APPEND TWIN_SOURCES ${CMAKE_SOURCE_DIR}/src/${file})
  endif()
endforeach()
list(REMOVE_DUPLICATES TWIN_SOURCES)

add_executable(chaos_server ${CMAKE_CURRENT_LIST_DIR}/server.cpp ${TWIN_SOURCES})
target_include_directories(chaos_server BEFORE PRIVATE ${copies})
target_include_directories(chaos_server PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
# What stands in place of a line may leave a name unused.
target_compile_options(chaos_server PRIVATE ${QUICK_TO_BUILD} -g0 -Wno-unused -Wno-unused-parameter -Wno-conversion)
target_link_libraries(chaos_server PRIVATE conclave_etcd)
