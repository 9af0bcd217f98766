# cmake -DCMAKE_TOOLCHAIN_FILE=this file. With CC=mpicc alone CMake thinks that it can run what it builds.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR riscv64)
get_filename_component(CHASQUI_COMMANDS "${CMAKE_CURRENT_LIST_DIR}/../../bin" ABSOLUTE)
set(CMAKE_C_COMPILER "${CHASQUI_COMMANDS}/mpicc")
set(CMAKE_CXX_COMPILER "${CHASQUI_COMMANDS}/mpicxx")
set(CMAKE_Fortran_COMPILER "${CHASQUI_COMMANDS}/mpifort")
set(MPIEXEC_EXECUTABLE "${CHASQUI_COMMANDS}/mpiexec" CACHE FILEPATH "How FindMPI starts what it builds")
set(BUILD_SHARED_LIBS OFF)
