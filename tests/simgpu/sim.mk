# The simulated driver: build/simgpu (as the real one: its inner calls cannot be interposed), build/simgpu-plt (they can),
# the command truth and libtruth.a for C tests.

SIM := tests/simgpu
SIM_SHARED := $(SIM)/account.c $(SIM)/life.c $(SIM)/config.c $(SIM)/config_mig.c
SIM_TRUTH := $(SIM)/truth.c $(SIM)/truth_read.c
SIM_NVML := $(wildcard $(SIM)/nvml*.c) $(SIM)/trace.c $(SIM_SHARED)
SIM_CUDA := $(filter-out $(SIM)/nvml%.c $(SIM_TRUTH),$(wildcard $(SIM)/*.c))
SIM_OUT := $(BUILD)/simgpu/libcuda.so.1 $(BUILD)/simgpu/libnvidia-ml.so.1 $(BUILD)/simgpu-plt/libcuda.so.1 \
	$(BUILD)/simgpu-plt/libnvidia-ml.so.1 $(BUILD)/simgpu/truth $(BUILD)/simgpu/libtruth.a
SIM_FLAGS := -O3 -ftls-model=initial-exec -fno-semantic-interposition

ALL += $(SIM_OUT)
TEST_DEPS += $(SIM_OUT)

sim_obj = $(patsubst %.c,$(BUILD)/simgpu/obj/%.o,$1)
plt_obj = $(patsubst %.c,$(BUILD)/simgpu-plt/obj/%.o,$1)

$(BUILD)/simgpu/gen/stubs_cuda.c: $(SIM)/exports.py $(SIM_CUDA) | $(CUDA_INCLUDE)/cuda.h
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)python3 $(SIM)/exports.py cuda $(CUDA_INCLUDE) $@ $(SIM_CUDA)

$(BUILD)/simgpu/gen/stubs_nvml.c: $(SIM)/exports.py $(SIM_NVML) | $(NVML_INCLUDE)/nvml.h
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)python3 $(SIM)/exports.py nvml $(NVML_INCLUDE) $@ $(SIM_NVML)

define sim_compile
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(OWN_CPPFLAGS) -I$(SIM) $(OWN_CFLAGS) $(SIM_FLAGS) $1 -MMD -MP -c $< -o $@
endef

$(BUILD)/simgpu/obj/gen/%.o: $(BUILD)/simgpu/gen/%.c
	$(call sim_compile,-Wno-strict-prototypes)
$(BUILD)/simgpu/obj/%.o: %.c | $(CUDA_INCLUDE)/cuda.h $(NVML_INCLUDE)/nvml.h
	$(call sim_compile)
$(BUILD)/simgpu-plt/obj/gen/%.o: $(BUILD)/simgpu/gen/%.c
	$(call sim_compile,-DSIMGPU_PLT -fsemantic-interposition -Wno-strict-prototypes)
$(BUILD)/simgpu-plt/obj/%.o: %.c | $(CUDA_INCLUDE)/cuda.h $(NVML_INCLUDE)/nvml.h
	$(call sim_compile,-DSIMGPU_PLT -fsemantic-interposition)

define sim_link
	$(call say,LINK,$@)
	$(Q)$(CC) $(OWN_CFLAGS) -shared -Wl,-soname,$(@F) -Wl,-z,defs $1 -o $@ $^ $(LDFLAGS)
endef

$(BUILD)/simgpu/libcuda.so.1: $(call sim_obj,$(SIM_CUDA) gen/stubs_cuda.c)
	$(call sim_link,-Wl$(comma)-Bsymbolic)
$(BUILD)/simgpu/libnvidia-ml.so.1: $(call sim_obj,$(SIM_NVML) gen/stubs_nvml.c)
	$(call sim_link,-Wl$(comma)-Bsymbolic)
$(BUILD)/simgpu-plt/libcuda.so.1: $(call plt_obj,$(SIM_CUDA) gen/stubs_cuda.c)
	$(call sim_link)
$(BUILD)/simgpu-plt/libnvidia-ml.so.1: $(call plt_obj,$(SIM_NVML) gen/stubs_nvml.c)
	$(call sim_link)

comma := ,

# Only truth_* can be seen from outside: other parts have names like those within.
$(BUILD)/simgpu/libtruth.a: $(call sim_obj,$(SIM)/truth_read.c $(SIM_SHARED))
	$(call say,AR,$@)
	$(Q)$(LD) -r -o $(@D)/obj/truth_all.o $^
	$(Q)objcopy -w --keep-global-symbol='truth_*' $(@D)/obj/truth_all.o
	$(Q)rm -f $@ && $(AR) rcs $@ $(@D)/obj/truth_all.o
$(filter $(BUILD)/tests/sim_% $(BUILD)/tests/preload_% $(BUILD)/tests/gpu_%,$(TEST_BIN)): $(BUILD)/simgpu/libtruth.a
$(BUILD)/simgpu/truth: $(call sim_obj,$(SIM)/truth.c) $(BUILD)/simgpu/libtruth.a
	$(call say,LINK,$@)
	$(Q)$(CC) $(OWN_CFLAGS) -o $@ $^ $(LDFLAGS)

-include $(shell find $(BUILD)/simgpu-plt -name '*.d' 2>/dev/null)
