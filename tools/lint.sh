#!/bin/sh
# tools/lint.sh: what a reviewer should not have to say. `make lint` runs it; `format` lays out the files instead.
#
#   1. layout: clang-format     2. common mistakes: cppcheck    3. the rules of the house: below
#
# Looks at every file that git knows or would add. Exit status 1 if anything was found.
set -u
PATH=$PATH:$PWD/.deps/bin
found=0

if git rev-parse --git-dir >/dev/null 2>&1; then
    list=$(git ls-files -co --exclude-standard)
else
    list=$(find . \( -name .deps -o -name build -o -name bin -o -name runs -o -name .git \) -prune -o -type f -print | sed 's|^\./||')
fi
list=$(echo "$list" | while read -r file; do [ -f "$file" ] && echo "$file"; done) # deleted, but still in the index
sources=$(echo "$list" | grep -E '\.([ch]|cu)$')

need() {
    command -v "$1" >/dev/null && return 0
    echo "make lint: $1 was not found; make deps for=develop installs it" >&2
    found=1
    return 1
}

if [ "${1:-}" = format ]; then
    need clang-format && clang-format -i $sources
    exit $found
fi

mkdir -p build/lint

# ---- 1. layout
if need clang-format && ! clang-format --dry-run -Werror $sources >build/lint/layout 2>&1; then
    sed -n 's/: error: .*/: not laid out/p' build/lint/layout
    echo "lint: make format lays these out" >&2
    found=1
fi

# ---- 2. common mistakes. The operations of a backend are checked inside the file that includes them. (Suppressed: a
# block of memory seen as another type, which is how a tape works; log(0) where a loop is imagined to run 0 times;
# an Error or an array handed over to be filled; a vector filled lane by lane.)
alone=$(for file in $sources; do
    case $file in
    kernels/plain/plain.c | kernels/cpu/cpu.c) echo "$file" ;;
    kernels/plain/*.c) ;;
    *.c) grep -qs "^#include \"${file##*/}\"" kernels/cpu/cpu.c && [ "${file%/*}" = kernels/cpu ] || echo "$file" ;;
    esac
done)
flags='-I. -D_POSIX_C_SOURCE=200809L -DATTEND_ARCH="" -DATTEND_VERSION="" -DATTEND_PROCESSOR="" -DATTEND_FEATURES="" -DATTEND_LIBRARIES="" -DCPU_LOWEST=single -DCPU_LEVELS='
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
need cppcheck && { cppcheck -q -j "$jobs" --std=c11 --enable=warning,performance,portability --inline-suppr \
    --error-exitcode=1 --cppcheck-build-dir=build/lint --suppress=missingIncludeSystem \
    --suppress=invalidPointerCast --suppress=invalidFunctionArg --suppress=ctuuninitvar \
    --suppress=legacyUninitvar --suppress='uninitvar:kernels/cpu/*' \
    $flags $alone || found=1; }

# ---- 3. the rules of the house
# Includes point one way. A core module may see what the modules it names see, so train, which sees nn, sees tensor too.
echo "$sources" | xargs awk '
function module(path,    part) {
    split(path, part, "/")
    return path !~ /\// ? "." : part[1] == "core" ? "core/" part[2] : part[1]
}
function sees(from, to) {
    if (from == to || to == "base") return 1
    if (from == "base") return 0
    if (from == "tests" || from == "course" || from == "tools") return 1
    if (from == "kernels") return 0
    if (from ~ /^core\//) return index(" " core[substr(from, 6)] " ", " " (to == "kernels" ? to : substr(to, 6)) " ") > 0
    return to == "kernels" || to ~ /^core\//          # programs
}
BEGIN {
    core["tensor"] = "kernels"
    core["nn"] = core["run"] = "kernels tensor"
    core["train"] = "kernels tensor nn run"
    core["session"] = "kernels tensor nn run train"
    core["program"] = "kernels tensor nn run cli train session plot inspect research exchange text"
    core["exchange"] = "kernels tensor run text"
    core["research"] = "run plot inspect cli"
    core["plot"] = "kernels tensor run inspect"
    core["inspect"] = "kernels tensor run"
    core["search"] = "kernels tensor nn"
    core["text"] = "run"
    core["cli"] = ""
}
/^# *include *"/ {
    split($0, quoted, "\""); to = quoted[2]
    if (to ~ /^\.\.\//) { print FILENAME ":" FNR ": include from the top: not " to; bad = 1; next }
    target = module(to) == "." ? module(FILENAME) : module(to)
    if (!sees(module(FILENAME), target)) {
        print FILENAME ":" FNR ": " module(FILENAME) " must not include " to; bad = 1
    }
}
END { exit bad }' || found=1

# A function fits in 80 lines, a file in 600. (A function: from its "{" in the first column to its "}".)
echo "$sources" | xargs awk '
FNR == 1 { lines = 0; start = 0 }
/^\{/ || (/^[A-Za-z].*\) *\{$/ && !/^(struct|enum|union|typedef)/) { start = FNR }
/^\}/ { if (start && FNR - start - 1 > 80) { print FILENAME ":" start ": a function of " FNR - start - 1 " lines (80)"; bad = 1 } start = 0 }
FNR == 601 { print FILENAME ": more than 600 lines"; bad = 1 }
END { exit bad }' || found=1

# Files of a program, and of what programs share, use one another in one direction.
tools/circles.sh charlm classifier encdec core/program || found=1

# The page of operations says what the header does.
tools/operations.sh || found=1

# Texts quote what is there, and link to it; diagrams are those that their script draws.
tools/quotes.sh || found=1
tools/diagrams.sh check || found=1

# Words: the field's own (docs/glossary.md), in sentences that a reader takes in at once.
texts=$(echo "$list" | grep -v '^data/prose' | xargs grep -Il '' /dev/null)
private='[Tt]wins?|ROOM|[Cc]rews?|Sight|Meeting|Strip|pack_turned|owed?|Judge|[a-z_]*_desk'
stumble='[Ww]ho forgets|lies? (in|at)|comes? to be|(is|are) others than|trainings|an own|of before|foretells?|as ever'
stumble="$stumble|(of|for|about|first|last|than|takes?|at least|up to) so many|what is no (plain|number|step|text|UTF-8)"
persons='[Ww]ho(ever)?|[Nn]obody|[Ss]omebody|behind|lies' # code has none
if echo "$texts" | grep -vE "^(tools/lint.sh$|tests/fixtures/)" | xargs grep -nE "\\<($private|$stumble)\\>|, since |\\<give\\(" ||
    echo "$texts" | grep -E '^(base|core|kernels)/' | xargs grep -nE "\\<($persons)\\>"; then
    echo "lint: say these in the field's words: docs/glossary.md" >&2
    found=1
fi

# No place on one person's machine, and nothing left for later. (Brackets keep these patterns from finding themselves.)
if grep -nE '(^|[^A-Za-z0-9._}-])/(wor[k]|roo[t]|hom[e])/' $texts; then
    echo "lint: these name a place on one machine" >&2
    found=1
fi
if echo "$texts" | grep -v '\.md$' | xargs grep -nE '\<(TOD[O]|FIXM[E]|XX[X])\>'; then
    echo "lint: finish these, or write an issue" >&2
    found=1
fi

[ $found -eq 0 ] && echo "lint: clean"
exit $found
