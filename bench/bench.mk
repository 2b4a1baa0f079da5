# The bench: its programs, and what runs it. See bench/README.md.

BENCH_OUT := $(patsubst %,$(BUILD)/bench/%,cell spawn race worst empty.so)
BENCH_CUDA := $(filter %/cell %/race %/worst,$(BENCH_OUT))
TEST_DEPS += $(BENCH_OUT)
LINTS += bench-lint
bench_obj = $(patsubst %,$(BUILD)/obj/bench/%.c.o,$1)

.PHONY: bench bench-lint bench-table

$(BUILD)/obj/bench/race.c.o: OWN_CPPFLAGS += -Itests
$(BUILD)/bench/cell: $(call bench_obj,cell work calls options)
$(BUILD)/bench/spawn: $(call bench_obj,spawn)
$(BUILD)/bench/race: $(call bench_obj,race options) $(BUILD)/simgpu/libtruth.a
$(BUILD)/bench/worst: $(call bench_obj,worst options)
$(BUILD)/bench/empty.so: $(call bench_obj,empty)
$(BUILD)/bench/empty.so: LDLIBS += -shared

# Linked with the driver, as programs are; the simulated one stands for it.
$(BENCH_CUDA): LDLIBS += -L$(BUILD)/simgpu -l:libcuda.so.1 -ldl
$(BENCH_CUDA): | $(BUILD)/simgpu/libcuda.so.1
$(BENCH_OUT):
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(OWN_CFLAGS) -o $@ $^ $(LDLIBS) $(LDFLAGS)

## Measure
## bench             every figure of the budget; ONLY=text some, QUICK=1 roughly, PEER=library PEER_ENV="K=V ..." another too
bench: all $(BENCH_OUT)
	$(Q)$(PYTHON) bench/run --build $(BUILD) $(if $(QUICK),--quick) $(if $(PEER),--peer $(PEER)) \
		$(if $(PEER_ENV),--peer-env '$(PEER_ENV)') $(if $(filter 1,$(V)),--verbose) $$ONLY

## bench-table       write the figures of the last whole bench into README.md
bench-table:
	$(Q)$(PYTHON) bench/table.py --build $(BUILD)

bench-lint:
	$(Q)$(PYTHON) bench/budget.py
