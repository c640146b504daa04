# Sourced by ./test --ports: builds for each target, runs the test programs in an emulator, and makes the table of
# ports.
install_missing aarch64-linux-gnu-gcc=gcc-aarch64-linux-gnu /usr/aarch64-linux-gnu/lib/libc.a=libc6-dev-arm64-cross \
    arm-linux-gnueabihf-gcc=gcc-arm-linux-gnueabihf /usr/arm-linux-gnueabihf/lib/libc.a=libc6-dev-armhf-cross \
    riscv64-linux-gnu-gcc=gcc-riscv64-linux-gnu /usr/riscv64-linux-gnu/lib/libc.a=libc6-dev-riscv64-cross \
    powerpc64le-linux-gnu-gcc=gcc-powerpc64le-linux-gnu /usr/powerpc64le-linux-gnu/lib/libc.a=libc6-dev-ppc64el-cross \
    s390x-linux-gnu-gcc=gcc-s390x-linux-gnu /usr/s390x-linux-gnu/lib/libc.a=libc6-dev-s390x-cross \
    i686-linux-gnu-gcc=gcc-i686-linux-gnu /usr/i686-linux-gnu/lib/libc.a=libc6-dev-i386-cross \
    qemu-aarch64=qemu-user musl-gcc=musl-tools x86_64-w64-mingw32-gcc-posix=gcc-mingw-w64-x86-64-posix \
    /usr/lib/wine/wine64=wine64 python3=python3 || say "going on without them"

table=build/ports.md
mkdir -p build
cat >"$table" <<'END'
| target | built by | run by | tests passed | failed |
|---|---|---|---|---|
END

# port NAME TARGET COMPILER RUN-BY EFFORT CMAKE-ARGUMENT...: one row of the table.
port() {
    name=$1 target=$2 compiler=$3 runner=$4 effort=$5
    shift 5
    case $runner in
    qemu-*) needed="$compiler $runner" ;;
    Wine) needed="$compiler /usr/lib/wine/wine64" ;;
    *) needed=$compiler ;;
    esac
    for program in $needed; do
        command -v "$program" >/dev/null 2>&1 || { leave_out "$target ($program is missing)"; return 1; }
    done
    port_started=$(date +%s)
    # No C++ here: the C++ header has no machine code of its own.
    # shellcheck disable=SC2086
    stage "port-$name" "$effort" "$programs" $programs_only -DCMAKE_C_COMPILER="$compiler" \
        -DCMAKE_CXX_COMPILER=NOTFOUND -DCMAKE_EXE_LINKER_FLAGS=-static "$@"
    case $compiler in *clang*) version=clang ;; *) version=gcc ;; esac
    version="$version $("$compiler" -dumpversion)"
    say "$target: $(($(date +%s) - port_started)) s in all"
    echo "| $target | $version | $runner | $stage_passed | $stage_failed |" >>"$table"
}

# emulated NAME TARGET COMPILER EMULATOR: a Linux architecture under qemu.
emulated() {
    export TEST_QEMU=1
    port "$1" "$2" "$3" "$4" 5 -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR="$1" \
        -DCMAKE_CROSSCOMPILING_EMULATOR="$4"
    unset TEST_QEMU
}

port x86_64 "Linux x86-64, glibc" gcc "the machine" 25
port clang "Linux x86-64, glibc" clang "the machine" 25
port musl "Linux x86-64, musl" musl-gcc "the machine" 25
port posix "Linux x86-64, POSIX threads only" gcc "the machine" 25 -DCONCEDE_OS=posix
emulated aarch64 "Linux ARM64" aarch64-linux-gnu-gcc qemu-aarch64
emulated armhf "Linux ARMv7" arm-linux-gnueabihf-gcc qemu-arm
emulated riscv64 "Linux RISC-V 64" riscv64-linux-gnu-gcc qemu-riscv64
emulated ppc64le "Linux POWER 64 LE" powerpc64le-linux-gnu-gcc qemu-ppc64le
emulated s390x "Linux s390x" s390x-linux-gnu-gcc qemu-s390x
emulated i386 "Linux i386" i686-linux-gnu-gcc qemu-i386

export WINEPREFIX="$PWD/build/wine" WINEDEBUG=-all
/usr/lib/wine/wine64 wineboot >/dev/null 2>&1
if port windows "Windows x86-64" x86_64-w64-mingw32-gcc-posix Wine 10 -DCMAKE_SYSTEM_NAME=Windows \
    -DCMAKE_CROSSCOMPILING_EMULATOR=/usr/lib/wine/wine64; then
    # The tests link the static library; a program on the DLL shows that it exports what a user needs.
    if x86_64-w64-mingw32-gcc-posix -std=c11 -O2 -DCC_SHARED -Iinclude tests/consumers/program.c \
        build/port-windows/libconcede.dll.a -o build/port-windows/program.exe &&
        /usr/lib/wine/wine64 build/port-windows/program.exe; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        say "the program on the DLL does not work"
    fi
fi
/usr/lib/wine/wineserver64 -k >/dev/null 2>&1

# check NAME FILE [CASE]: a test of tests/compile that needs all these compilers; here none of its cases may be left
# out.
check() {
    say "$1"
    # shellcheck disable=SC2086 # one word or none
    if PYTHONDONTWRITEBYTECODE=1 python3 "tests/compile/$2" ${3-} >"build/$1.log" 2>&1 &&
        ! grep -q '^skip:' "build/$1.log"; then
        passed=$((passed + $(grep -c '^ok' "build/$1.log")))
    else
        failed=$((failed + 1))
        grep -v '^ok' "build/$1.log"
        return 1
    fi
}

# The hint in the code for each architecture, and ARM64's choice of it on emulated CPUs.
check hints machine_code.py

# The rest is compiled against stubs of the systems' interfaces (tests/compile/systems.py).
for system in macos freebsd openbsd; do
    if check "$system" systems.py "$system"; then result="built, not run here"; else result="does not build"; fi
    case $system in
    macos) target="macOS ARM64" ;;
    freebsd) target="FreeBSD x86-64" ;;
    openbsd) target="OpenBSD x86-64" ;;
    esac
    echo "| $target | clang $(clang -dumpversion) | $result | | |" >>"$table"
done

# The Debian package, from a copy of the tree, with the version of the headers and no error of lintian's.
say debian
debian=build/debian/concede
rm -rf build/debian
mkdir -p "$debian"
tar -c --exclude=./build* --exclude=./.git . | tar -x -C "$debian"
version=$(sed -n 's/.*STRING "\(.*\)"/\1/p' include/concede/version.h)
if ! install_missing dh=debhelper dpkg-buildpackage=dpkg-dev fakeroot=fakeroot lintian=lintian \
    "$probes=systemtap-sdt-dev"; then
    leave_out "the Debian package (its tools are missing)"
elif [ "$(cd "$debian" && dpkg-parsechangelog -S Version)" = "$version" ] &&
    (cd "$debian" && dpkg-buildpackage -us -uc -j"$(nproc)") >build/debian/build.log 2>&1 &&
    "$debian/debian/concede/usr/bin/concede" bench --help >build/debian/program.log 2>&1 &&
    lintian --fail-on error build/debian/*.changes >build/debian/lintian.log 2>&1; then
    passed=$((passed + 1))
    say "debian: the package builds"
else
    failed=$((failed + 1))
    tail -n 40 build/debian/*.log
    say "debian: the package does not build"
fi

if [ -n "$publish" ] && [ "$failed" = 0 ] && grep -q '<!-- ports:begin -->' doc/ports.md; then
    awk -v table="$table" '
        /<!-- ports:end -->/ { inside = 0 }
        !inside { print }
        /<!-- ports:begin -->/ {
            inside = 1
            while ((getline line < table) > 0) print line
        }' doc/ports.md >build/ports.new
    cmp -s build/ports.new doc/ports.md || cat build/ports.new >doc/ports.md
    rm build/ports.new
fi
cat "$table"
