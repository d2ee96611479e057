# One static library a folder, but where its parts are used one without the other.

include(dependencies)
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON) # Another folder's executable links them too.

# Called from a folder's CMakeLists.txt.
#
#   soapstone_add_folder(NAME [LIBRARY name] FLOOR n [PARTS part...] [FOLDERS folder...]
#                        [LINK target...] [EXCLUDE file...])
#
# Makes the library soapstone_NAME, alias soapstone::NAME, from every source file in the folder and
# in its parts (sub-folders) but those that EXCLUDE names. LIBRARY is its name where soapstone_add_part
# adds others.
#
# FLOOR and PARTS are the one table of who may include whom, which tests/layers reads: a folder
# includes only folders on lower floors, and a part includes only parts named before it. Files of
# the folder itself may include all its parts.
#
# FOLDERS are those whose headers this one may include. LINK names foreign libraries, for this
# folder's sources alone; fmt comes with every folder. A folder without sources makes no
# library, and no foreign library has to be there for it.
function(soapstone_add_folder name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LIBRARY;FLOOR" "PARTS;FOLDERS;LINK;EXCLUDE")
  list(TRANSFORM arg_PARTS APPEND "/*.cpp" OUTPUT_VARIABLE part_patterns)
  file(GLOB sources RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS ${part_patterns} *.cpp)
  list(REMOVE_ITEM sources "" ${arg_EXCLUDE})
  if(arg_LIBRARY)
    set(name ${arg_LIBRARY})
  endif()
  if(sources)
    soapstone_add_library(${name} SOURCES ${sources} FOLDERS ${arg_FOLDERS} LINK ${arg_LINK})
  endif()
endfunction()

#   soapstone_add_part(FOLDER PART [FOLDERS library...] [LINK target...] [MAINS file...])
#
# A part of a folder that is a library of its own, soapstone_FOLDER_PART, alias soapstone::FOLDER_PART,
# so that whoever needs it compiles no other. It lies above all parts that FOLDER has until then.
# There is no such library if one of FOLDERS is not built. MAINS are sources that hold a main: the
# executable NAME, with - for _, from each PART/NAME.cpp.
function(soapstone_add_part folder part)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "FOLDERS;LINK;MAINS")
  foreach(needed IN LISTS arg_FOLDERS)
    if(NOT TARGET soapstone_${needed})
      return()
    endif()
  endforeach()
  file(GLOB sources RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS ${part}/*.cpp)
  list(TRANSFORM arg_MAINS PREPEND ${part}/ OUTPUT_VARIABLE mains)
  list(REMOVE_ITEM sources "" ${mains})
  soapstone_add_library(
    ${folder}_${part} SOURCES ${sources} FOLDERS ${arg_FOLDERS} LINK ${arg_LINK})

  foreach(main IN LISTS mains)
    cmake_path(GET main STEM command)
    string(REPLACE _ - executable ${command})
    add_executable(${executable} ${main})
    soapstone_link_foreign(${executable} fmt::fmt)
    target_link_libraries(${executable} PRIVATE soapstone_${folder}_${part})
    set_property(GLOBAL APPEND PROPERTY SOAPSTONE_EXECUTABLES ${executable})
  endforeach()
endfunction()

# soapstone_join_parts(FOLDER): soapstone_FOLDER, which is all libraries of the folder.
function(soapstone_join_parts folder)
  get_property(libraries GLOBAL PROPERTY SOAPSTONE_LIBRARIES)
  list(FILTER libraries INCLUDE REGEX "^soapstone_${folder}_")
  if(libraries)
    add_library(soapstone_${folder} INTERFACE)
    add_library(soapstone::${folder} ALIAS soapstone_${folder})
    set_target_properties(soapstone_${folder} PROPERTIES EXPORT_NAME ${folder})
    target_link_libraries(soapstone_${folder} INTERFACE ${libraries})
    foreach(library IN LISTS libraries)
      get_property(foreign TARGET ${library} PROPERTY SOAPSTONE_FOREIGN)
      set_property(TARGET soapstone_${folder} APPEND PROPERTY SOAPSTONE_FOREIGN ${foreign})
    endforeach()
    set_property(GLOBAL APPEND PROPERTY SOAPSTONE_LIBRARIES soapstone_${folder})
  endif()
endfunction()

# soapstone_add_library(NAME SOURCES file... FOLDERS library... LINK target...): soapstone_NAME.
function(soapstone_add_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;FOLDERS;LINK")
  set(library soapstone_${name})
  add_library(${library} STATIC ${arg_SOURCES})
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
