# cmake -DIN=file -DOUT=file.c -DNAME=name -P embed.cmake: a file as an array of C, with a 0 at its end.
file(READ "${IN}" bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
file(WRITE "${OUT}" "extern const unsigned char ${NAME}[];\nconst unsigned char ${NAME}[] = {\n${bytes}0\n};\n")
