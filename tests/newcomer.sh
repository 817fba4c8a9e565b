#!/usr/bin/env bash
# The first hour of a newcomer, on a fresh clone and nothing else: demo, a project of one's own, three mistakes, scenarios,
# a run on the embedded model, a run that waits and is approved, a fork of it.
#
# Nobody helps: before a command is run it is looked up in what the newcomer has read so far, the README and everything
# that was printed. A command that neither of them gave ends the walk.
#
#   tests/newcomer.sh [REPOSITORY]     another place to clone from; else the repository this file is in
set -euo pipefail

from="${1:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
read_so_far="$work/read.txt"
# A home of one's own, with nothing configured. Only pip's cache is shared, to spare the network.
terminal='import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(["bash", "-c", sys.argv[1]])))'
python="$(command -v "${PYTHON:-python3}")"
export PIP_CACHE_DIR="${PIP_CACHE_DIR:-${HOME:-/root}/.cache/pip}" HOME="$work/home" COLUMNS=100
unset MKLANG_CONFIG MKLANG_CONFIG_DIR MKLANG_DATA_DIR MKLANG_STATE_DIR XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME
mkdir "$HOME"

fail() { printf '\nnewcomer: %s\n' "$*" >&2; exit 1; }

# known COMMAND: somebody told the newcomer this command.
known() { grep -qF -- "$1" "$read_so_far" || fail "nobody has said '$1' so far"; }

# try WANTED COMMAND: run it as it was told, show it, remember what it says; its exit code must be WANTED.
try() {
  local wanted="$1" command="$2" code=0
  known "$command"
  attempt "$wanted" "$command"
}

# attempt WANTED COMMAND: the same for a command whose parts were told.
attempt() {
  local wanted="$1" command="$2" code=0
  printf '\n$ %s\n' "$command"
  # On a terminal, as a person sees it: text, not the JSON of a pipe. A dumb one, so that nothing moves.
  TERM=dumb "$python" -c "$terminal" "$command" >"$work/said.txt" 2>&1 </dev/null || code=$?
  tr -d '\r' <"$work/said.txt" | sed 's/\x1b\[[0-9;?]*[a-zA-Z]//g' >"$work/clean.txt"
  cat "$work/clean.txt"
  cat "$work/clean.txt" >>"$read_so_far"
  [ "$code" = "$wanted" ] || fail "'$command' ended with $code instead of $wanted"
}

# said TEXT: the last command said it.
said() { grep -qF -- "$1" "$work/clean.txt" || fail "expected to read '$1'"; }

# from_output PATTERN: the last match in what the last command said.
from_output() { grep -oE -- "$1" "$work/clean.txt" | tail -n 1 || fail "expected something like '$1'"; }

# A copy without its history is as good, and without what was built in it.
git clone --quiet "$from" "$work/mklang" 2>/dev/null || {
  mkdir -p "$work/mklang"
  tar -C "$from" --exclude=./.git --exclude=./.venv -cf - . | tar -C "$work/mklang" -xf -
}
cd "$work/mklang"
cat README.md >"$read_so_far"

try 0 'make demo'
said 'route:'
known '. .venv/bin/activate'
# shellcheck disable=SC1091
. .venv/bin/activate

mkdir "$work/project"
cd "$work/project"
known 'In an empty folder:'
try 0 'mklang init'
machine="$(from_output 'machines/[a-z]+\.mkl' | head -n 1)"
try 0 'mklang check machines'
cp "$machine" "$work/whole.mkl"

# Three mistakes. Each error must say where it is and enough to repair it: the hint's own word is put in, nothing else.
for broken in 's/output:/ouput:/' 's/to: greet$/to: gret/' 's/^entry: write/entry: wirte/'; do
  cp "$work/whole.mkl" "$machine"
  sed -i "$broken" "$machine"
  attempt 1 'mklang check machines'
  line="$(from_output "^$machine:[0-9]+" | cut -d: -f2)"
  wrong="$(grep -oE "'[a-z]+'" "$work/clean.txt" | head -n 1 | tr -d "'")"
  right="$(grep -oE "did you mean '[a-z]+'" "$work/clean.txt" | head -n 1 | cut -d"'" -f2)"
  [ -n "$line" ] && [ -n "$right" ] || fail "the error does not say what was meant"
  while grep -qE "\b$wrong\b" "$machine"; do sed -i -E "s/\b$wrong\b/$right/" "$machine"; done
  attempt 0 'mklang check machines'
done
cmp --silent "$machine" "$work/whole.mkl" || fail 'following the hints did not repair the machine'

try 0 'mklang test machines'
said '0 failed'
sed -i '0,/then: ok, to: END/s//then: ok, to: greet/' "$machine"
attempt 1 'mklang test machines'
said 'expected'
cp "$work/whole.mkl" "$machine"
try 0 'mklang doctor'
try 0 "mklang run $machine"
said 'done:'

try 3 "mklang run $machine --set audience=everybody --hitl"
said '(yes)'
answer="$(from_output 'mklang resume [^ ]+ --set approval=')"
run="$(printf '%s' "$answer" | cut -d' ' -f3)"
known "$answer"
attempt 0 "${answer}yes"
said 'a person said yes'

# Change one's mind: the same run once more, from before the question.
known 'mklang runs show RUN'
attempt 0 "mklang runs show $run"
said "mklang runs fork $run --at KEY"
key="$(from_output '[0-9]+:[a-z]+/ask')"
attempt 0 "mklang runs fork $run --at $key"
again="$(from_output 'mklang resume [^ ]+')"
known "$again"
attempt 3 "$again"
answer="$(from_output 'mklang resume [^ ]+ --set approval=')"
attempt 1 "${answer}no"
said 'gate-fail'
attempt 0 "mklang runs show $run"
said 'approval = "yes"'

printf '\nnewcomer: everything was there\n'
