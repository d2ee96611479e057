# One static library per folder.

include(dependencies)
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON) # Another folder's executable links them too.

# Called from a folder's CMakeLists.txt.
#
#   soapstone_add_folder(NAME FLOOR n [PARTS part...] [FOLDERS folder...] [LINK target...]
#                        [EXCLUDE file...])
#
# Makes the library soapstone_NAME, alias soapstone::NAME, from every source file in the folder and
# in its parts (sub-folders).
#
# FLOOR and PARTS are the one table of who may include whom, which tests/layers reads: a folder
# includes only folders on lower floors, and a part includes only parts named before it. Files of
# the folder itself may include all its parts.
#
# FOLDERS are those whose headers this one may include. LINK names foreign libraries, for this
# folder's sources alone; fmt comes with every folder. A folder without sources makes no
# library, and no foreign library has to be there for it.
function(soapstone_add_folder name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "FLOOR" "PARTS;FOLDERS;LINK;EXCLUDE")
  list(TRANSFORM arg_PARTS APPEND "/*.cpp" OUTPUT_VARIABLE part_patterns)
  file(GLOB sources RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS ${part_patterns} *.cpp)
  list(REMOVE_ITEM sources "" ${arg_EXCLUDE})
  if(NOT sources)
    return()
  endif()

  set(library soapstone_${name})
  add_library(${library} STATIC ${sources})
  add_library(soapstone::${name} ALIAS ${library})
  set_target_properties(${library} PROPERTIES EXPORT_NAME ${name} POSITION_INDEPENDENT_CODE ON)
  target_compile_features(${library} PUBLIC cxx_std_20)
  target_include_directories(
    ${library}
    PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>"
           "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/soapstone>")

  foreach(folder IN LISTS arg_FOLDERS)
    if(TARGET soapstone_${folder})
      target_link_libraries(${library} PUBLIC soapstone_${folder})
    endif()
  endforeach()
  set(foreign fmt::fmt ${arg_LINK})
  soapstone_link_foreign(${library} ${foreign})
  set_property(TARGET ${library} PROPERTY SOAPSTONE_FOREIGN "${foreign}")
  set_property(GLOBAL APPEND PROPERTY SOAPSTONE_LIBRARIES ${library})
  set_property(GLOBAL APPEND PROPERTY SOAPSTONE_FOREIGN ${foreign})
endfunction()

# soapstone_link_foreign(TARGET foreign-target...): finds the libraries and links them privately.
function(soapstone_link_foreign target)
  foreach(library IN LISTS ARGN)
    soapstone_find_library(${library})
  endforeach()
  target_link_libraries(${target} PRIVATE ${ARGN})
endfunction()
