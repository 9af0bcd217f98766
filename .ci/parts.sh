# Read by .ci/run and .ci/nightly: parts with their seconds, and the table of them at the end, also where one fails.
parts=
begin=$(date +%s)
as_root=
[ "$(id -u)" = 0 ] || as_root=sudo

# Prints the table and ends with the status that the script would have ended with.
finish() {
  status=$?
  printf '\n%s took %d s:\n%s' "$title" $(($(date +%s) - begin)) "$parts"
  exit $status
}

# Runs a command as the part `$1`, and notes its seconds and whether it failed.
part() {
  name=$1
  shift
  before=$(date +%s)
  result=0
  "$@" || result=$?
  note=
  [ $result = 0 ] || note="  failed with status $result"
  parts="$parts$(printf '%-12s %5d s%s' "$name" $(($(date +%s) - before)) "$note")
"
  return $result
}

# The cross compilers for the tests with glibc and Fortran, the browser for those of reports, gdb, and what reads exported traces.
compilers() {
  part packages $as_root apt-get update -q
  part compilers $as_root apt-get install -q -y gcc-riscv64-linux-gnu g++-riscv64-linux-gnu gfortran-riscv64-linux-gnu \
    chromium
  part readers $as_root apt-get install -q -y --no-install-recommends libsimgrid-dev otf2-tools tcpdump \
    gdb-multiarch
}

trap finish EXIT
