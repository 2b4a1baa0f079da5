# The bench: its programs, and what runs it. See bench/README.md.

BENCH_OUT := $(BUILD)/bench/cell
BENCH_OBJ = $(patsubst %,$(BUILD)/obj/bench/%.c.o,$1)
TEST_DEPS += $(BENCH_OUT)
LINTS += bench-lint

.PHONY: bench bench-lint

# Linked with the driver, as programs are; the simulated one stands for it.
$(BUILD)/bench/cell: $(call BENCH_OBJ,cell work calls) | $(BUILD)/simgpu/libcuda.so.1
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(OWN_CFLAGS) -o $@ $^ -L$(BUILD)/simgpu -l:libcuda.so.1 -ldl $(LDFLAGS)

## Measure
## bench             every figure of the budget; ONLY=text some, QUICK=1 roughly, PEER=library PEER_ENV="K=V ..." another too
bench: all $(BENCH_OUT)
	$(Q)$(PYTHON) bench/run --build $(BUILD) $(if $(QUICK),--quick) $(if $(PEER),--peer $(PEER)) \
		$(if $(PEER_ENV),--peer-env '$(PEER_ENV)') $(if $(filter 1,$(V)),--verbose) $(ONLY)

bench-lint:
	$(Q)$(PYTHON) bench/budget.py
