# SPDX-License-Identifier: Apache-2.0
# A number that changes with every commit, so that tests which draw their cases at random try others each time. What a
# test drew is printed with every failure.
#   ww_commit_seed(<variable>)   0x + eight digits of HEAD, or 0 outside a repository; configures again after a commit
function(ww_commit_seed variable)
  set(seed 0)
  find_package(Git QUIET)
  if(Git_FOUND)
    execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --short=8 HEAD WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                    OUTPUT_VARIABLE commit RESULT_VARIABLE failed OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    execute_process(COMMAND ${GIT_EXECUTABLE} rev-parse --path-format=absolute --git-path logs/HEAD
                    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE head_log OUTPUT_STRIP_TRAILING_WHITESPACE
                    ERROR_QUIET)
    if(NOT failed AND commit MATCHES "^[0-9a-f]+$")
      set(seed 0x${commit})
      if(EXISTS "${head_log}")
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${head_log})
      endif()
    endif()
  endif()
  set(${variable} ${seed} PARENT_SCOPE)
endfunction()
