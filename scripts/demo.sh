#!/usr/bin/env bash
# Set-up, build of the program, and the main job: packed document attention on real sentences.
set -euo pipefail
cd "$(dirname "$0")/.."

preset=${TILEWRIGHT_PRESET:-dev}
case "$preset" in
  dev | ci) build=build ;;
  *) build=build-$preset ;;
esac
scripts/setup.sh build
scripts/build.sh "$preset" tilewright_cli tilewright_python

sentences=examples/packed_sentences/sentences.safetensors
mask='doc[q] == doc[kv]'
demo=$build/demo
mkdir -p "$demo"

printf '\nTwelve sentences in one sequence of 240 tokens; query, key and value of layer 0 of all-MiniLM-L6-v2.\n'
printf 'Each token may see its own sentence: %s\n\n' "$mask"
"$build/tilewright" mask --mask "$mask" --capture "doc=$sentences:doc" --q 240 --kv 240 \
  --q-block 16 --kv-block 16 --svg "$demo/mask.svg" --png "$demo/mask.png"

printf '\nAttention of the packed sequence, beside the fp64 meaning and each sentence alone:\n'
"$build/tilewright" run --input "$sentences" --dtype f32 --mask "$mask" --verify --alone cu_seqlens \
  --repeat 50 --out "$demo/out.safetensors"

printf '\nThe same in bf16:\n'
"$build/tilewright" run --input "$sentences" --dtype bf16 --mask "$mask" --verify --alone cu_seqlens \
  --repeat 50

printf '\nPictures and results: %s/mask.svg, mask.png, out.safetensors\n' "$demo"
printf 'Next: %s/tilewright --help, README.md\n' "$build"
