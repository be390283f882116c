# Thin names over scripts/.
.PHONY: demo test test-gpu test-extended bench format sanitize
demo: ; @scripts/demo.sh
test: ; @scripts/test.sh $(CTEST_ARGS)
test-gpu: ; @scripts/test_gpu.sh $(GPU_ARGS)
test-extended: ; @scripts/test_extended.sh $(PYTEST_ARGS)
bench: ; @scripts/bench.sh $(BENCH_ARGS)
format: ; @scripts/format.sh
sanitize: ; @scripts/sanitize.sh $(SANITIZERS)
