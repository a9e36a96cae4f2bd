# Builds a project of cmake with ninja and with make, and tests it with ctest.
# needs: cmake ctest gcc make
set -eu
cat >CMakeLists.txt <<'C'
cmake_minimum_required(VERSION 3.10)
project(small C)
find_package(Threads REQUIRED)
add_library(twice STATIC twice.c)
add_executable(main main.c)
target_link_libraries(main twice Threads::Threads)
enable_testing()
add_test(NAME twice COMMAND main 21)
add_test(NAME wrong COMMAND main 20)
set_tests_properties(wrong PROPERTIES WILL_FAIL TRUE)
C
echo 'int twice(int n) { return 2 * n; }' >twice.c
printf '#include <stdlib.h>\nint twice(int n);\nint main(int c, char **v) { return c < 2 || twice(atoi(v[1])) != 42; }\n' >main.c
cmake -S . -B with-make -G "Unix Makefiles" >/dev/null
cmake --build with-make -j2 >/dev/null
(cd with-make && ctest -j2 --output-on-failure)
if command -v ninja; then
    cmake -S . -B with-ninja -G Ninja >/dev/null
    cmake --build with-ninja >/dev/null
    (cd with-ninja && ctest -j2 --output-on-failure)
fi
