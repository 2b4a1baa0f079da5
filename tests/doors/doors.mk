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
LINKED_TESTS := $(BUILD)/tests/preload_door_direct_link $(BUILD)/tests/preload_door_two_copies_are_one
$(LINKED_TESTS): LDLIBS += -Wl,--no-as-needed $(DOORS_DRIVER)
$(LINKED_TESTS): | $(DOORS_DRIVER)
$(BUILD)/tests/preload_door_second_copies_race: LDLIBS += -rdynamic
$(BUILD)/tests/preload_door_shared_runtime: LDLIBS += -Wl,--no-as-needed -L$(DOORS) -l:plugin_runtime.so -Wl,-rpath,'$$ORIGIN/doors'
$(BUILD)/tests/preload_door_shared_runtime: | $(DOORS)/plugin_runtime.so

TEST_DEPS += $(PLUGINS)

# One program, three builds.
SEQUENCES := $(addprefix $(DOORS)/sequence_,linked dlsym dlvsym)
$(DOORS)/sequence_linked: FORM := -DLINKED
$(DOORS)/sequence_linked: $(DOORS_DRIVER)
$(DOORS)/sequence_dlvsym: FORM := -DBY_DLVSYM
$(SEQUENCES): tests/doors/sequence.c tests/doors/door.h tests/ledger_now.h $(BUILD)/libcuquota_reader.a | $(HEADERS)
	$(call say,PLUGIN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(OWN_CPPFLAGS) -Itests $(FORM) $(OWN_CFLAGS) -o $@ $(filter %.c %.a,$^) -Wl,--no-as-needed \
		$(filter %.so.1,$^) -Wl,--as-needed -ldl $(LDFLAGS)
TEST_DEPS += $(SEQUENCES) $(DOORS)/versioned/libcuda.so.1
# A driver whose symbols have a version: dlvsym finds nothing in one without.
$(DOORS)/versioned/libcuda.so.1: $(call sim_obj,$(SIM_CUDA) gen/stubs_cuda.c)
	$(call say,PLUGIN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)echo 'CUDA_1 { *; };' >$(@D)/versions
	$(Q)$(CC) $(OWN_CFLAGS) -shared -Wl,-soname,libcuda.so.1 -Wl,-Bsymbolic -Wl,--version-script=$(@D)/versions -o $@ $^ $(LDFLAGS)
$(BUILD)/tests/preload_door_resolver_by_hand: $(BUILD)/libcuquota_reader.a
$(BUILD)/tests/preload_door_pointers_cached_before_init: $(BUILD)/simgpu/libtruth.a

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
$(DOORS)/secret_old.so: tests/doors/secret.c
	$(call say,PLUGIN,$@)
	$(Q)mkdir -p $(@D)
	$(call plugin,-DOLD)
$(DOORS)/%.so: tests/doors/%.c
	$(call say,PLUGIN,$@)
	$(Q)mkdir -p $(@D)
	$(call plugin)
TEST_DEPS += $(patsubst %,$(DOORS)/%.so,bundled run_path deep malloc tracer secret secret_old) $(DOORS)/future/libcuda.so.1 $(DOORS)/old/libcuda.so.1
$(BUILD)/tests/preload_door_deepbind_is_kept_for_others: LDLIBS += -rdynamic
