# Sourced by ./run, ./test and the scripts beside it.

say() { printf '%s\n' "== $*"; }

# install_missing COMMAND=PACKAGE...: installs the packages whose command (or file pattern, if it has a slash) is not there.
install_missing() {
    missing=
    for pair in "$@"; do
        what=${pair%%=*}
        case $what in
        */*) ls $what >/dev/null 2>&1 && continue ;; # unquoted: a pattern
        *) command -v "$what" >/dev/null 2>&1 && continue ;;
        esac
        missing="$missing ${pair#*=}"
    done
    [ -z "$missing" ] && return 0
    if ! command -v apt-get >/dev/null 2>&1; then
        say "missing, please install:$missing"
        return 1
    fi
    as_root=
    if [ "$(id -u)" != 0 ]; then as_root=sudo; fi
    say "installing:$missing"
    # Package lists may be absent or stale, so a failed first try updates them and tries again.
    # shellcheck disable=SC2086 # a list of words, on purpose
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >/dev/null 2>&1 ||
        { $as_root apt-get update -q >/dev/null &&
            $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends $missing >/dev/null; }
}

# build FOLDER CMAKE-ARGUMENT...: configures and builds quietly; shows the log only if that fails.
build() {
    folder=$1
    shift
    mkdir -p "$folder"
    if ! { cmake -S . -B "$folder" "$@" && cmake --build "$folder" -j "$(nproc)"; } >"$folder/build.log" 2>&1; then
        grep -E -A 12 'error|Error|FAILED' "$folder/build.log" | head -60
        say "build failed; the whole log is $folder/build.log"
        return 1
    fi
}
