#!/usr/bin/env bash
# Runs the tests with the arithmetic of other processors: no result may depend on the last bits.
# Run it by `make other-machines`; arguments go to pytest. ONLY="haswell oldest" runs just those settings.
#   haswell, skylakex, zen   the OpenBLAS kernels of these processors
#   oldest                   kernels without AVX, NumPy without wide vectors, numba for any x86-64
# Prints the failures of each setting; exits 1 where there are any. Each takes as long as the tests.
set -u
cd "$(dirname "$0")/.." || exit 2
python=${PYTHON:-.venv/bin/python}
declare -A setting=(
  [haswell]="OPENBLAS_CORETYPE=Haswell"
  [skylakex]="OPENBLAS_CORETYPE=SkylakeX"
  [zen]="OPENBLAS_CORETYPE=Zen"
  [oldest]="OPENBLAS_CORETYPE=Prescott NPY_DISABLE_CPU_FEATURES=X86_V3,X86_V4,AVX512_ICL,AVX512_SPR NUMBA_CPU_NAME=generic"
)
failed=0
for name in ${ONLY-haswell skylakex zen oldest}; do
  [ -n "${setting[$name]-}" ] || { echo "no setting $name; there are: ${!setting[*]}"; exit 2; }
  log=$(mktemp)
  # NumPy warns where a feature to switch off does not exist in this processor.
  env ${setting[$name]} PYTHONWARNINGS="ignore::ImportWarning" \
    "$python" -m pytest -p no:cacheprovider "$@" >"$log" 2>&1 || failed=1
  printf '%-9s %s\n' "$name" "$(tail -n 1 "$log")"
  grep -E '^(FAILED|ERROR)' "$log" | cut -c1-200
  rm -f "$log"
done
exit $failed
