# Fuzzers. Each is a test that `make test` feeds its corpus, built by any compiler; `make fuzz` builds the same files with
# clang, libFuzzer and the sanitizers, in a build of their own, and lets each run for TIME seconds.

FUZZ_SRC := $(wildcard tests/fuzz/*_*.c)
FUZZ_NAMES := $(basename $(notdir $(FUZZ_SRC)))
TIME ?= 60
FUZZ_CC ?= clang

.PHONY: fuzz fuzzers
## fuzz              each fuzzer for TIME seconds (60), its corpus first; ONLY=part of a name
fuzz: $(HEADERS)
	+$(Q)if command -v $(FUZZ_CC) >/dev/null; then \
		$(SUB) BUILD=$(BUILD)/fuzz CC=$(FUZZ_CC) SANITIZE=fuzzer-no-link,address,undefined fuzzers; fi
	$(Q)$(PYTHON) tests/fuzz/fuzz.py --build $(BUILD) --time $(TIME) $(ONLY)

# In the sub-make: the fuzzers themselves.
FUZZERS := $(patsubst %,$(BUILD)/fuzzers/%,$(FUZZ_NAMES))
fuzzers: $(FUZZERS)
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
