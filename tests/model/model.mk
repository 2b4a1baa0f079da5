# The protocol of the ledger, checked by spin, and the build that prints its steps.

MODEL_TRACE := $(BUILD)/trace
traced = $(patsubst %,$(MODEL_TRACE)/obj/%.o,$1)

.PHONY: model
## Test
## model             check the protocol's models by spin, and that planted faults are found; ONLY=pattern, LONG=1
model: $(MODEL_TRACE)/racers
	$(Q)$(PYTHON) tests/model/run.py --build $(BUILD) $(if $(LONG),--long) $$ONLY
	$(Q)$(PYTHON) tests/model/replay.py --racers $(MODEL_TRACE)/racers

# TRACE=1: also a library whose ledger writes its steps to files in the folder that CUQUOTA_TRACE names.
ALL += $(if $(TRACE),$(MODEL_TRACE)/libcuquota.so)
TEST_DEPS += $(MODEL_TRACE)/racers

$(MODEL_TRACE)/obj/%.o: % | $(HEADERS) $(GEN)
	$(call compile,-DCUQUOTA_TRACE)

$(MODEL_TRACE)/libcuquota.so: $(call traced,$(SHIM_SRC)) $(SHIM_DEPS)
	$(link_shim)

$(MODEL_TRACE)/racers: $(call traced,tests/model/racers.c $(wildcard shim/base/*.c shim/ledger/*.c))
	$(call say,LINK,$@)
	$(Q)$(CC) $(OWN_CFLAGS) -o $@ $^ $(LDFLAGS)

-include $(shell find $(MODEL_TRACE) -name '*.d' 2>/dev/null)
