# One static library per folder.

include(dependencies)
set(CMAKE_FIND_PACKAGE_TARGETS_GLOBAL ON) # Another folder's executable links them too.

# Called from a folder's CMakeLists.txt.
#
#   soapstone_add_folder(NAME [LINK item...] [EXCLUDE file...])
#
# Makes the library soapstone_NAME, alias soapstone::NAME, from every source file in the folder. An
# item is a folder (this one's headers may include its headers) or a target of a foreign library
# (for this folder's sources alone). fmt and xxHash come with every folder. A folder without sources
# makes no library, and no foreign library has to be there for it.
function(soapstone_add_folder name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK;EXCLUDE")
  set(patterns "*.cpp")
  if(SOAPSTONE_GPU)
    list(APPEND patterns "*.cu")
  endif()
  file(GLOB sources RELATIVE "${CMAKE_CURRENT_SOURCE_DIR}" CONFIGURE_DEPENDS ${patterns})
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

  set(foreign fmt::fmt xxHash::xxhash)
  foreach(item IN LISTS arg_LINK)
    if(item MATCHES "::")
      list(APPEND foreign ${item})
    elseif(TARGET soapstone_${item})
      target_link_libraries(${library} PUBLIC soapstone_${item})
    endif()
  endforeach()
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
