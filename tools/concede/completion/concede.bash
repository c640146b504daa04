# Completion of concede(1) for bash. What there is to complete is read from the program's own help: it is always right.

_concede_help() {
    COLUMNS=500 "$1" ${2:+"$2"} --help 2>/dev/null
}

_concede() {
    local program=${COMP_WORDS[0]} current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
    local command= words= value=
    local IFS=$' \t\n'
    COMPREPLY=()
    # "--option=val" arrives as three words.
    if [[ $current == = ]]; then
        current=
    elif [[ $previous == = ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if ((COMP_CWORD > 1)); then
        command=${COMP_WORDS[1]}
    fi
    if [[ -z $command ]]; then
        words="$(_concede_help "$program" | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p') --help --version"
    else
        if [[ $previous == -* ]]; then # does it take a value?
            value=$(_concede_help "$program" "$command" |
                sed -n "s/^  \(-., \)\{0,1\} *\(--[a-z-]*\) \(\[\{0,1\}[A-Z][^ ]*\) .*/\1\2 \3/p" |
                sed -n "s/^\(.*, \)\{0,1\}$previous \(.*\)/\2/p; s/^$previous, --[a-z-]* \(.*\)/\1/p")
        fi
        case $value in
        '') words="$(_concede_help "$program" "$command" | grep -oE '^  (-.,)? +--[a-z-]+' | grep -oE -e '--[a-z-]+')"
            if [[ $command == bench && $current != -* ]]; then
                words="cas lock condition park channel select shared all"
                words+=" $("$program" bench --list 2>/dev/null | sed -n '2,/^[a-z]/s/^  //p')"
            elif [[ $command == simulate && $current != -* ]]; then
                words="cas lock park channel all"
            fi ;;
        NAME\|FILE) words="all $("$program" simulate --list 2>/dev/null | sed -n '2,/^[a-z]/s/^  \(.*\):.*/\1/p')" ;;
        FILE | '[FILE]') COMPREPLY=($(compgen -f -- "$current")) && return ;;
        WHAT) words="latency balance cpu" ;;
        HOW) words="spread none" ;;
        FORM) words="document tables machine" ;;
        *) return ;;
        esac
    fi
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}

complete -o filenames -F _concede concede
