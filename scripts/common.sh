# Sourced by ./run, ./test and the scripts beside it.

say() { printf '%s\n' "== $*"; }

# missing_of COMMAND=PACKAGE...: the packages whose command (or file pattern, if it has a slash) is not there.
missing_of() {
    for pair in "$@"; do
        what=${pair%%=*}
        case $what in
        */*) ls $what >/dev/null 2>&1 && continue ;; # unquoted: a pattern
        *) command -v "$what" >/dev/null 2>&1 && continue ;;
        esac
        printf ' %s' "${pair#*=}"
    done
}

# as_root COMMAND...: runs it as root, by sudo where we are somebody else; fails where that is not allowed.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif [ -t 0 ]; then
        sudo "$@"
    else
        sudo -n "$@" # nobody is there to type a password
    fi
}

apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
}

# install_missing COMMAND=PACKAGE...: installs the Debian packages that missing_of names. Where that is not possible it
# says which are still missing, and fails.
install_missing() {
    missing=$(missing_of "$@")
    [ -z "$missing" ] && return 0
    if command -v apt-get >/dev/null 2>&1 && { [ "$(id -u)" = 0 ] || command -v sudo >/dev/null 2>&1; }; then
        if [ "$(id -u)" = 0 ]; then say "installing:$missing"; else say "installing with sudo:$missing"; fi
        # Package lists may be absent or stale, so a failed first try updates them and tries again.
        # shellcheck disable=SC2086 # a list of words, on purpose
        apt_install $missing >/dev/null 2>&1 || { as_root apt-get update -q && apt_install $missing; } >/dev/null 2>&1
        missing=$(missing_of "$@")
        [ -z "$missing" ] && return 0
    fi
    say "missing, and not installed from here:$missing"
    return 1
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
