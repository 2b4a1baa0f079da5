# The exports of libcuquota.so are the HOOK rows and the four doors, and the wrappers are the HOOK rows. A row without
# a wrapper leaves an undefined symbol (-z defs); a wrapper without a row fails the check below, before the link.

DEFS := shim/driver/cuda.def shim/driver/nvml.def
EXPORTS := python3 shim/driver/exports.py

$(BUILD)/gen/exports.map: $(DEFS) shim/driver/exports.py
	$(Q)mkdir -p $(@D)
	$(Q)$(EXPORTS) map $@ $(DEFS)

$(BUILD)/gen/wrappers.ok: $(call obj,$(SHIM_SRC)) $(DEFS) shim/driver/exports.py
	$(Q)mkdir -p $(@D)
	$(Q)$(EXPORTS) wrappers $(DEFS) -- $(filter %.o,$^)
	$(Q)touch $@

SHIM_DEPS += $(BUILD)/gen/exports.map $(BUILD)/gen/wrappers.ok
# -Bsymbolic: the hook map must hold our own functions, whoever else in the process defines the same names.
SHIM_LINK += -Wl,-Bsymbolic -Wl,--version-script,$(BUILD)/gen/exports.map

# Which symbol answers for a name at a version, out of NVIDIA's own header.
$(BUILD)/gen/versions.h: shim/driver/versions.py $(CUDA_INCLUDE)/cuda.h
	$(Q)mkdir -p $(@D)
	$(Q)python3 $< $@ $(CUDA_INCLUDE)

GEN += $(BUILD)/gen/versions.h

# A program may open files in a thread with the smallest stack.
ifeq ($(SANITIZE),)
$(BUILD)/obj/shim/driver/%.o $(BUILD)/debug/obj/shim/driver/%.o: OWN_CFLAGS += -Werror=frame-larger-than=512
endif
