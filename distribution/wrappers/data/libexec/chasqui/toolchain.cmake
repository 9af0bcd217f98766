# cmake -DCMAKE_TOOLCHAIN_FILE=this file. With CC=mpicc alone CMake thinks that it can run what it builds.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
set(CMAKE_C_COMPILER "${CMAKE_CURRENT_LIST_DIR}/bin/mpicc")
set(CMAKE_CXX_COMPILER "${CMAKE_CURRENT_LIST_DIR}/bin/mpicxx")
set(CMAKE_Fortran_COMPILER "${CMAKE_CURRENT_LIST_DIR}/bin/mpifort")
set(MPIEXEC_EXECUTABLE "${CMAKE_CURRENT_LIST_DIR}/bin/mpiexec" CACHE FILEPATH "How FindMPI starts what it builds")
set(BUILD_SHARED_LIBS OFF)
