
# Bash splits words at ':' and '='. fsderby gets each word whole, and Bash gets what follows the last of these characters.
_fsderby() {
    local line=$COMP_LINE words=() at=0 i
    for i in "${!COMP_WORDS[@]}"; do
        if [[ $i -gt 0 && -n $line && $line != [[:space:]]* ]]; then
            words[${#words[@]} - 1]+=${COMP_WORDS[i]}
        else
            words+=("${COMP_WORDS[i]}")
            line=${line#"${line%%[![:space:]]*}"}
        fi
        line=${line#"${COMP_WORDS[i]}"}
        [[ $i -eq $COMP_CWORD ]] && at=$((${#words[@]} - 1))
    done
    local typed=${COMP_LINE:0:COMP_POINT} breaks=${COMP_WORDBREAKS//[^:=]/}
    typed=${typed##*[[:space:]]}
    # Bash does not split what is quoted.
    if [[ -z $breaks || $typed != *["$breaks"]* || $typed == *[\"\'\\]* ]]; then
        _clap_complete_fsderby "$@"
        [[ $typed == *[\"\']* ]] || _fsderby_quote
        return
    fi
    local COMP_WORDS=("${words[@]}") COMP_CWORD=$at
    _clap_complete_fsderby "$1" "$typed" "$3"
    COMPREPLY=("${COMPREPLY[@]#"${typed%"${typed##*["$breaks"]}"}"}")
    _fsderby_quote
}
# Bash inserts a reply as it is, so blanks and the shell's own characters in a name are quoted.
_fsderby_quote() {
    local i
    for i in "${!COMPREPLY[@]}"; do
        [[ ${COMPREPLY[i]} == *[[:space:]\"\'\\\$\`\(\)\<\>\|\&\;\*\?]* ]] && printf -v "COMPREPLY[i]" %q "${COMPREPLY[i]}"
    done
    return 0
}
complete -F _fsderby $(complete -p fsderby | grep -o -e '-o [a-z]*') fsderby
