# cuquota: one Makefile, out of tree in build/. `make help` lists the targets.
#
# Sources are found by name, so that a new file needs no edit here. What a part needs beyond that stands in its own
# fragment (FRAGMENTS below), which may add to:
#   ALL         what `make` builds                   GEN        generated files that must exist before anything compiles
#   SHIM_DEPS   what libcuquota.so's link reads      SHIM_LINK  and its flags
#   TEST_DEPS   what must be built before tests run  LINTS      targets that `make lint` runs too
# One test's own needs are target-specific: `$(BUILD)/tests/preload_x: LDLIBS += -lm`.

BUILD ?= build
V ?= 0
Q := $(if $(filter 1,$(V)),,@)
QUIET := $(filter 1,$(V))$(findstring s,$(firstword -$(MAKEFLAGS)))
say = $(if $(QUIET),@:,@printf '  %-6s %s\n' '$1' '$2')

PREFIX ?= /usr/local
DESTDIR ?=
PYTHON ?= $(BUILD)/venv/bin/python3
NVIDIA := $(BUILD)/nvidia/include
CUDA_INCLUDE ?= $(NVIDIA)
NVML_INCLUDE ?= $(NVIDIA)

CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Wmissing-prototypes -Wstrict-prototypes -Wshadow -Wvla -Wno-unused-parameter
OWN_CPPFLAGS = -D_GNU_SOURCE -Iinclude -Ishim -I$(BUILD)/gen -isystem $(CUDA_INCLUDE) -isystem $(NVML_INCLUDE) $(CPPFLAGS)
OWN_CFLAGS = -std=gnu11 -fPIC -fvisibility=hidden -pthread $(WARN) $(CFLAGS)
# SANITIZE= a list for -fsanitize, set by check-asan and check-tsan for a build of its own.
SANITIZE ?=
ifneq ($(SANITIZE),)
OWN_CFLAGS += -fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=undefined
endif
# Only a sanitized library has it, and it and the front ends are not sanitized: the runtime starts through them.
SANITIZED := $(if $(SANITIZE),tests/sanitized.c)

FLOORS := base ledger driver policy hooks
SHIM_SRC := $(foreach f,$(FLOORS),$(wildcard shim/$f/*.c shim/$f/*.S))
CLI_SRC := $(wildcard shim/cli/*.c) $(wildcard shim/base/*.c shim/ledger/*.c)
# What a test program may link; the linker takes from it only what the program uses. Not the front ends: they would
# answer the test's own dlsym.
PART_SRC := $(filter-out shim/driver/frontend% shim/hooks/%,$(SHIM_SRC)) \
	$(filter-out shim/cli/main.c,$(wildcard shim/cli/*.c))
TEST_KINDS := unit proc preload sim gpu
TEST_SRC := $(foreach k,$(TEST_KINDS),$(wildcard tests/$k_*.c tests/doors/$k_*.c tests/step/$k_*.c tests/gpu/$k_*.c \
	tests/fuzz/$k_*.c))
TEST_BIN := $(patsubst %.c,$(BUILD)/tests/%,$(notdir $(TEST_SRC)))

obj = $(patsubst %,$(BUILD)/obj/%.o,$1)
points = $(patsubst %,$(BUILD)/debug/obj/%.o,$1)

ALL := $(BUILD)/libcuquota.so $(if $(wildcard shim/cli/main.c),$(BUILD)/cuquota)
GEN :=
SHIM_DEPS :=
SHIM_LINK :=
TEST_DEPS := $(BUILD)/debug/libcuquota.so
LINTS :=

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.PHONY: all setup demo test test-long test-gpu tests lint reports mutants test-deps check-asan check-tsan tables format \
	install uninstall clean help

FRAGMENTS := tests/simgpu/sim.mk shim/driver/driver.mk shim/policy/policy.mk shim/hooks/hooks.mk shim/cli/cli.mk \
	tests/doors/doors.mk tests/step/step.mk tests/model/model.mk tests/fuzz/fuzz.mk examples/demo/demo.mk bench/bench.mk
# What setup brings is needed by all else that was asked for with it.
ifneq ($(filter setup,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

-include $(FRAGMENTS)

## Build
## all               the library, the command and the simulated driver
all: $(ALL)

HEADERS := $(sort $(CUDA_INCLUDE)/cuda.h $(NVML_INCLUDE)/nvml.h)

define compile
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(OWN_CPPFLAGS) $1 $(OWN_CFLAGS) -MMD -MP -c $< -o $@
endef

$(BUILD)/obj/%.o: % | $(HEADERS) $(GEN)
	$(call compile)

$(BUILD)/obj/tests/sanitized.c.o $(BUILD)/obj/shim/driver/%.o $(BUILD)/debug/obj/shim/driver/%.o: OWN_CFLAGS += \
	$(if $(SANITIZE),-fno-sanitize=all -fno-builtin $(if $(findstring clang,$(CC)),,-fno-tree-loop-distribute-patterns))

# The debug build: a process can be told to pause or die at a named point (shim/base/point.h).
$(BUILD)/debug/obj/%.o: % | $(HEADERS) $(GEN)
	$(call compile,-DCUQUOTA_POINTS)

define link_shim
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(OWN_CFLAGS) -shared -Wl,-soname,libcuquota.so -Wl,-z,nodelete -Wl,-z,defs $(SHIM_LINK) -o $@ \
		$(filter %.o,$^) -ldl $(LDFLAGS)
endef

$(BUILD)/libcuquota.so: $(call obj,$(SHIM_SRC) $(SANITIZED)) $(SHIM_DEPS)
	$(link_shim)

$(BUILD)/debug/libcuquota.so: $(call points,$(SHIM_SRC)) $(call obj,$(SANITIZED)) $(SHIM_DEPS)
	$(link_shim)

$(BUILD)/cuquota: $(call obj,$(CLI_SRC))
	$(call say,LINK,$@)
	$(Q)$(CC) $(OWN_CFLAGS) -o $@ $^ $(LDFLAGS)

$(BUILD)/parts.a: $(call obj,$(PART_SRC))
$(BUILD)/debug/parts.a: $(call points,$(PART_SRC))
$(BUILD)/parts.a $(BUILD)/debug/parts.a:
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# unit_ and proc_ link the shipped objects (proc_ with named points), the others only know the real library.
$(filter $(BUILD)/tests/unit_%,$(TEST_BIN)): $(BUILD)/parts.a
$(filter $(BUILD)/tests/proc_%,$(TEST_BIN)): $(BUILD)/debug/parts.a
$(filter $(BUILD)/tests/proc_%,$(TEST_BIN)): POINTS := -DCUQUOTA_POINTS

vpath %.c tests tests/doors tests/step tests/gpu tests/fuzz
$(TEST_BIN): $(BUILD)/tests/%: %.c | $(HEADERS) $(GEN)
	$(call say,TEST,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(OWN_CPPFLAGS) -Itests $(POINTS) $(OWN_CFLAGS) -MMD -MP -MF $@.d -o $@ $< $(filter %.a,$^) \
		-Wl,--as-needed -lcmocka -ldl $(LDLIBS) $(LDFLAGS)

## setup             install what the build and the tests need (Debian, Ubuntu; elsewhere name it)
setup:
	$(Q).ci/setup $(BUILD) $(if $(filter-out $(NVIDIA),$(CUDA_INCLUDE) $(NVML_INCLUDE)),$(CUDA_INCLUDE) $(NVML_INCLUDE))

ifneq ($(filter setup,$(MAKECMDGOALS)),)
$(HEADERS): | setup ;
else
$(HEADERS):
	@echo "there is no $@: run 'make setup', or set CUDA_INCLUDE= and NVML_INCLUDE=" >&2; exit 1
endif

## tables            write the generated tables into the README files anew
tables:
	$(Q)$(PYTHON) tests/tables.py --write

## clean             remove build/ except what setup fetched
clean:
	$(Q)for f in $(BUILD)/* $(BUILD)/.[!.]*; do case $$f in */venv | */nvidia) ;; *) rm -rf "$$f" ;; esac; done

## Try
## demo              the main job, on simulated cards where there is no real one
ifeq ($(wildcard examples/demo/demo.mk),)
demo:
	@echo "make demo: not built yet" >&2; exit 2
endif

## Test
## test              every test that needs no card, some minutes; last line "N passed, N failed, N skipped"
##                   (a line for each file; a Python file may hold several tests)
RUN = $(PYTHON) tests/run --build $(BUILD)
export CUDA_INCLUDE NVML_INCLUDE
test-deps: all $(TEST_DEPS)
tests: test-deps $(TEST_BIN)
test: tests
	$(Q)$(RUN)

## test-long         the long forms of the tests, and those that only have a long one
test-long: tests
	$(Q)$(RUN) --long

## test-gpu          the tests that need a card
test-gpu: tests
	$(Q)env -u LD_LIBRARY_PATH $(RUN) --card 'gpu_*'

## check-asan        the tests under the address and undefined-behaviour sanitizers
## check-tsan        the tests under the thread sanitizer (left out: tests/sanitizer.skip)
SUB = $(MAKE) --no-print-directory CUDA_INCLUDE=$(CUDA_INCLUDE) NVML_INCLUDE=$(NVML_INCLUDE) PYTHON=$(PYTHON) \
	CFLAGS='-O1 -g'
check-asan: $(HEADERS)
	+$(Q)$(SUB) BUILD=$(BUILD)/asan SANITIZE=address,undefined tests
	$(Q)$(PYTHON) tests/run --build $(BUILD)/asan --sanitizer asan
check-tsan: $(HEADERS)
	+$(Q)$(SUB) BUILD=$(BUILD)/tsan SANITIZE=thread tests
	$(Q)$(PYTHON) tests/run --build $(BUILD)/tsan --sanitizer tsan

## mutants           plant each fault of tests/mutants and see its tests fail; ONLY=pattern for some
mutants: tests
	$(Q)$(PYTHON) tests/mutate.py --build $(BUILD) --cuda $(CUDA_INCLUDE) --nvml $(NVML_INCLUDE) $${ONLY:+"$$ONLY"}

## reports           which field report has which test
reports:
	$(Q)$(PYTHON) tests/reports.py

## lint              floors, doors, formatting, exports, generated tables, static analysers
lint: tests $(LINTS)
	$(Q)$(PYTHON) tests/lint.py --build $(BUILD) --cuda $(CUDA_INCLUDE) --nvml $(NVML_INCLUDE) $$ONLY

## format            lay out the C sources as make lint wants them; FILES= for some
format:
	$(Q)clang-format -i $(or $(FILES),$(shell git ls-files -co --exclude-standard '*.c' '*.h' ':!tests/simgpu'))

## Install
## install           into DESTDIR/PREFIX (/usr/local)
install: all
	install -d $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/include/cuquota \
		$(DESTDIR)$(PREFIX)/lib/cuquota/simgpu $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(BUILD)/libcuquota.so $(DESTDIR)$(PREFIX)/lib/
	install -m 755 $(BUILD)/cuquota $(DESTDIR)$(PREFIX)/bin/
	install -m 644 $(BUILD)/libcuquota_reader.a $(DESTDIR)$(PREFIX)/lib/
	install -m 644 $(BUILD)/cuquota.1 $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 $(wildcard include/cuquota/*.h) $(DESTDIR)$(PREFIX)/include/cuquota/
	install -m 755 $(BUILD)/simgpu/*.so.1 $(DESTDIR)$(PREFIX)/lib/cuquota/simgpu/

## uninstall         remove what install put there
uninstall:
	rm -f $(DESTDIR)$(PREFIX)/lib/libcuquota.so $(DESTDIR)$(PREFIX)/bin/cuquota \
		$(DESTDIR)$(PREFIX)/lib/libcuquota_reader.a $(DESTDIR)$(PREFIX)/share/man/man1/cuquota.1
	rm -rf $(DESTDIR)$(PREFIX)/include/cuquota $(DESTDIR)$(PREFIX)/lib/cuquota

# By headings, in the order in which they first come, whichever file a target stands in.
help:
	@awk '/^## [A-Z][a-z]*$$/ { group = substr($$0, 4); if (!(group in text)) order[++groups] = group; next } \
		/^## +[^ ]/ { text[group] = text[group] "  " substr($$0, 4) "\n" } \
		END { for (i = 1; i <= groups; i++) printf "%s\n%s", order[i], text[order[i]] }' Makefile $(wildcard $(FRAGMENTS))
	@echo 'Variables'
	@echo '  of all            BUILD=build V=1 CC= CFLAGS= PYTHON= CUDA_INCLUDE= NVML_INCLUDE='
	@echo '  of some           ONLY=text: which of bench, fuzz, lint, model, mutants; TIME=seconds: fuzz; LONG=1: model;'
	@echo '                    QUICK=1, PEER=, PEER_ENV=: bench; FILES=: format; TRACE=1: a library that prints its steps;'
	@echo '                    DESTDIR=, PREFIX=/usr/local: install, uninstall'

-include $(shell find $(BUILD)/obj $(BUILD)/debug $(BUILD)/tests $(BUILD)/simgpu -name '*.d' 2>/dev/null)
