# Fuzzers. Each is a test that `make test` feeds its corpus, built by any compiler; `make fuzz` builds the same files with
# clang, libFuzzer and the sanitizers, in a build of their own, and lets each run for TIME seconds.

FUZZ_SRC := $(wildcard tests/fuzz/*_*.c)
FUZZ_NAMES := $(basename $(notdir $(FUZZ_SRC)))
TIME ?= 60
FUZZ_CC ?= clang

.PHONY: fuzz fuzzers
## Test
## fuzz              each fuzzer for TIME seconds (60), its corpus first; ONLY=part of a name
fuzz: $(HEADERS) $(SIM_OUT)
	+$(Q)if echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' | \
		$(FUZZ_CC) -x c -fsanitize=fuzzer,address - -o /dev/null 2>/dev/null; then \
		$(SUB) BUILD=$(BUILD)/fuzz CC=$(FUZZ_CC) PLAIN=$(BUILD) SANITIZE=fuzzer-no-link,address,undefined \
			fuzzers && $(PYTHON) tests/fuzz/fuzz.py --build $(BUILD) --time $(TIME) $$ONLY; \
	else \
		$(PYTHON) tests/fuzz/fuzz.py --without-clang; fi

# In the sub-make: the fuzzers themselves.
FUZZERS := $(patsubst %,$(BUILD)/fuzzers/%,$(FUZZ_NAMES))
# With ONLY= those whose name it is part of.
fuzzers: $(foreach f,$(FUZZERS),$(if $(ONLY),$(foreach o,$(ONLY),$(if $(findstring $(o),$(f)),$f)),$f))
$(filter $(BUILD)/fuzzers/unit_%,$(FUZZERS)): $(BUILD)/parts.a
$(filter $(BUILD)/fuzzers/proc_%,$(FUZZERS)): $(BUILD)/debug/parts.a
$(filter $(BUILD)/fuzzers/proc_%,$(FUZZERS)): POINTS := -DCUQUOTA_POINTS
$(FUZZERS): $(BUILD)/fuzzers/%: tests/fuzz/%.c | $(HEADERS) $(GEN)
	$(call say,FUZZER,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(OWN_CPPFLAGS) -Itests $(POINTS) -DFUZZ_LIBFUZZER $(OWN_CFLAGS) -fsanitize=fuzzer -MMD -MP -MF $@.d -o $@ \
		$< $(filter %.a,$^) -ldl $(LDLIBS) $(LDFLAGS)
-include $(wildcard $(BUILD)/fuzzers/*.d)

# Time and mappings of the ledger's target are its own.
comma := ,
$(filter %/proc_any_ledger_bytes_harm_nobody,$(TEST_BIN) $(FUZZERS)): LDFLAGS += \
	$(patsubst %,-Wl$(comma)--wrap=%,clock_gettime nanosleep syscall mmap munmap)
# The calls' target has the whole library linked in, but for the front ends: faults are put into its table.
CALLS := preload_any_calls_keep_the_account
$(BUILD)/whole.a: $(call obj,$(filter-out shim/driver/frontend%,$(SHIM_SRC)))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(filter %/$(CALLS),$(TEST_BIN) $(FUZZERS)): $(BUILD)/whole.a
$(filter %/$(CALLS),$(FUZZERS)): $(PLAIN)/simgpu/libtruth.a # the cards are not sanitized
$(filter %/$(CALLS),$(TEST_BIN) $(FUZZERS)): LDFLAGS += $(patsubst %,-Wl$(comma)--wrap=%,clock_gettime nanosleep syscall)
