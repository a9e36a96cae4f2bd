# CMake generated Testfile for 
# Source directory: /tmp/wt-handson
# Build directory: /tmp/wt-handson/build-asan
# 
# This file includes the relevant testing commands required for 
# testing this directory and lists subdirectories to be tested as well.
subdirs("tests")
