# cuquota: one Makefile, out of tree in build/. `make help` lists the targets.

BUILD ?= build
V ?= 0
Q := $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-6s %s\n' '$1' '$2')

PYTHON ?= $(BUILD)/venv/bin/python3
NVIDIA := $(BUILD)/nvidia/include
CUDA_INCLUDE ?= $(NVIDIA)
NVML_INCLUDE ?= $(NVIDIA)

CFLAGS ?= -O2 -g
WARN := -Wall -Wextra -Wmissing-prototypes -Wstrict-prototypes -Wshadow -Wvla -Wno-unused-parameter
CPPFLAGS += -D_GNU_SOURCE -Iinclude -Ishim -I$(BUILD)/gen -isystem $(CUDA_INCLUDE) -isystem $(NVML_INCLUDE)
OWN_CFLAGS = -std=gnu11 -fPIC -fvisibility=hidden -pthread $(WARN) $(CFLAGS)

FLOORS := base ledger driver policy hooks
SHIM_SRC := $(foreach f,$(FLOORS),$(wildcard shim/$f/*.c shim/$f/*.S))
CLI_SRC := $(wildcard shim/cli/*.c) $(wildcard shim/base/*.c shim/ledger/*.c)
SIM_CUDA_SRC := $(filter-out tests/simgpu/nvml%,$(wildcard tests/simgpu/*.c))
SIM_NVML_SRC := $(wildcard tests/simgpu/nvml*.c) $(wildcard tests/simgpu/card*.c)

obj = $(patsubst %,$(BUILD)/obj/%.o,$1)

.PHONY: all help clean
all: $(BUILD)/libcuquota.so $(BUILD)/cuquota

$(BUILD)/obj/%.o: %
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(OWN_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/libcuquota.so: $(call obj,$(SHIM_SRC))
	$(call say,LINK,$@)
	$(Q)$(CC) -shared -pthread -Wl,-z,nodelete -Wl,-z,defs -o $@ $^ -ldl $(LDFLAGS)

$(BUILD)/cuquota: $(call obj,$(CLI_SRC))
	$(call say,LINK,$@)
	$(Q)$(CC) -pthread -o $@ $^ $(LDFLAGS)

clean:
	rm -rf $(BUILD)

-include $(shell find $(BUILD)/obj -name '*.d' 2>/dev/null)
