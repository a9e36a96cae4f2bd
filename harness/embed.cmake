# Files, one after the other, as the inside of a C array: cmake "-DIN=…;…" -DFROM=… -DOUT=… -P embed.cmake
set(bytes "")
foreach(file ${IN})
  file(READ ${FROM}/${file} part HEX)
  string(APPEND bytes "${part}")
endforeach()
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
file(WRITE ${OUT} "${bytes}\n")
