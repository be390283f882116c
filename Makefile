# Thin names over scripts/.
.PHONY: demo test bench format
demo: ; @scripts/demo.sh
test: ; @scripts/test.sh $(CTEST_ARGS)
bench: ; @scripts/bench.sh $(BENCH_ARGS)
format: ; @scripts/format.sh
