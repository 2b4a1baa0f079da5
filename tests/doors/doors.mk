# Plugins and stand-ins for the tests of the doors.

DOORS := $(BUILD)/tests/doors
DOORS_DRIVER := $(BUILD)/simgpu/libcuda.so.1
PLUGINS := $(DOORS)/plugin_linked.so $(DOORS)/plugin_opens.so $(DOORS)/plugin_runtime.so
plugin = $(Q)$(CC) $(OWN_CPPFLAGS) -Itests $1 $(OWN_CFLAGS) -shared -o $@ $(filter %.c,$^) $(filter %.so %.so.1,$^) $(PLUGIN_LINK) $(LDFLAGS)

$(DOORS)/plugin_linked.so: tests/doors/plugin.c tests/doors/door.h $(DOORS_DRIVER) | $(HEADERS)
	$(call say,PLUGIN,$@)
	$(Q)mkdir -p $(@D)
	$(call plugin,-DPLUGIN_LINKED)
$(DOORS)/plugin_opens.so: tests/doors/plugin.c tests/doors/door.h | $(HEADERS)
	$(call say,PLUGIN,$@)
	$(Q)mkdir -p $(@D)
	$(call plugin,-DPLUGIN_OPENS)
$(DOORS)/plugin_runtime.so: tests/doors/plugin.c tests/doors/door.h tests/doors/runtime.h | $(HEADERS)
	$(call say,PLUGIN,$@)
	$(Q)mkdir -p $(@D)
	$(call plugin,-DPLUGIN_RUNTIME)

# The driver is put where a link by -lcuda puts it: before libc, by its SONAME, without a path.
LINKED_TESTS := $(BUILD)/tests/preload_door_direct_link $(BUILD)/tests/preload_door_three_builds_agree \
	$(BUILD)/tests/preload_door_two_copies_are_one
$(LINKED_TESTS): LDLIBS += -Wl,--no-as-needed $(DOORS_DRIVER)
$(LINKED_TESTS): | $(DOORS_DRIVER)
$(BUILD)/tests/preload_door_second_copies_race: LDLIBS += -rdynamic
$(BUILD)/tests/preload_door_shared_runtime: LDLIBS += -Wl,--no-as-needed -L$(DOORS) -l:plugin_runtime.so -Wl,-rpath,'$$ORIGIN/doors'
$(BUILD)/tests/preload_door_shared_runtime: | $(DOORS)/plugin_runtime.so

TEST_DEPS += $(PLUGINS)

$(DOORS)/future/libcuda.so.1: tests/doors/future.c $(call sim_obj,$(SIM_CUDA) gen/stubs_cuda.c) | $(HEADERS)
	$(call say,PLUGIN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(LD) -r -o $(@D)/sim.o $(filter %.o,$^)
	$(Q)objcopy --redefine-sym cuGetProcAddress_v2=sim_resolver $(@D)/sim.o
	$(call plugin)
# A driver of CUDA 11.0 or so.
OLD_LACKS := cuGetProcAddress_v2 cuMemAllocAsync* cuMemAllocFromPool* cuMemPool* cuMemCreate cuMemMap* cuMemRelease cuGraph*
$(DOORS)/old/libcuda.so.1: $(call sim_obj,$(SIM_CUDA) gen/stubs_cuda.c)
	$(call say,PLUGIN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(LD) -r -o $(@D)/sim.o $^
	$(Q)objcopy -w $(patsubst %,--localize-symbol='%',$(OLD_LACKS)) $(@D)/sim.o
	$(Q)$(CC) $(OWN_CFLAGS) -shared -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic -o $@ $(@D)/sim.o $(LDFLAGS)
$(DOORS)/future/libcuda.so.1: PLUGIN_LINK = $(@D)/sim.o -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic
$(DOORS)/run_path.so: PLUGIN_LINK := -Wl,--enable-new-dtags -Wl,-rpath,'$$ORIGIN/private'
$(DOORS)/%.so: tests/doors/%.c
	$(call say,PLUGIN,$@)
	$(Q)mkdir -p $(@D)
	$(call plugin)
TEST_DEPS += $(patsubst %,$(DOORS)/%.so,bundled run_path deep malloc tracer) $(DOORS)/future/libcuda.so.1 $(DOORS)/old/libcuda.so.1
$(BUILD)/tests/preload_door_deepbind_is_kept_for_others: LDLIBS += -rdynamic
