# Read by ctest: one test of ctest for each test of a GoogleTest executable, with all values of its
# parameters. Starting a process for each value takes longer than most of them.

# soapstone_discover_unit_tests(FOLDER EXECUTABLE FILTER TIMEOUT ENVIRONMENT): those that the filter
# admits.
function(soapstone_discover_unit_tests folder executable filter timeout environment)
  if(NOT EXISTS "${executable}")
    add_test("${folder}_NOT_BUILT" "${executable}_NOT_BUILT")
    return()
  endif()
  execute_process(
    COMMAND "${executable}" --gtest_list_tests "--gtest_filter=${filter}"
    OUTPUT_VARIABLE list RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "${executable} does not list its tests: ${result}\n${list}")
  endif()
  # A line is "Suite." or "  Test", each perhaps with a comment; values of parameters stand behind a slash.
  string(REGEX REPLACE " *#[^\n]*" "" list "${list}")
  string(REGEX REPLACE "[[;]" "" list "${list}")
  string(REPLACE "\n" ";" list "${list}")
  set(names)
  foreach(line IN LISTS list)
    if(line MATCHES "^  ([^/]+)(/?)")
      list(APPEND names "${suite}${CMAKE_MATCH_1}${CMAKE_MATCH_2}")
    elseif(line MATCHES "^[^ ]+\\.$")
      set(suite "${line}")
    endif()
  endforeach()
  list(REMOVE_DUPLICATES names)
  set(tests)
  foreach(name IN LISTS names)
    set(pattern "${name}")
    if(name MATCHES "/$")
      string(APPEND pattern "*")
      string(REGEX REPLACE "/$" "" name "${name}")
    endif()
    add_test("${folder}/${name}" "${executable}" "--gtest_filter=${pattern}")
    list(APPEND tests "${folder}/${name}")
  endforeach()
  if(tests)
    # Skipped is what has skipped all and failed in none.
    set_tests_properties(
      ${tests} PROPERTIES LABELS "${folder};unit" TIMEOUT ${timeout} ENVIRONMENT "${environment}"
      SKIP_REGULAR_EXPRESSION
      "PASSED  . 0 tests\\.\n.  SKIPPED . [0-9]+ tests?, listed below:\n(.  SKIPPED . [^\n]*\n)+$")
  endif()
endfunction()
