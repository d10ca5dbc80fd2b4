# Merges static libraries: cmake -DAR=ar -DOUT=all.a "-DARCHIVES=a.a;b.a" -P merge_archives.cmake
# An MRI script keeps members of equal names (engine/table.cc.o, plan/table.cc.o) apart, which extracting would not.
set(script "CREATE ${OUT}\n")
foreach(archive ${ARCHIVES})
  string(APPEND script "ADDLIB ${archive}\n")
endforeach()
string(APPEND script "SAVE\nEND\n")
file(REMOVE ${OUT})
file(WRITE ${OUT}.mri "${script}")
execute_process(COMMAND ${AR} -M INPUT_FILE ${OUT}.mri RESULT_VARIABLE result)
if(result OR NOT EXISTS ${OUT})
  message(FATAL_ERROR "cannot merge ${ARCHIVES} into ${OUT}")
endif()
