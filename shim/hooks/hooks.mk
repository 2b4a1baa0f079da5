# Tests of the wrappers that compare with the simulated card's own account.
STEPS := preload_vmm_is_charged_until_its_last_reference preload_contexts_are_charged_once_each \
	preload_threads_without_context_take_memory_by_handle preload_failed_driver_calls_change_nothing \
	preload_churn_of_handles_and_contexts_ends_even
$(STEPS:%=$(BUILD)/tests/%): $(BUILD)/simgpu/libtruth.a
# Tests that compare with what stands in the ledger.
$(BUILD)/tests/preload_process_lists_are_the_tenants_members: $(BUILD)/libcuquota_reader.a

# What the sweep over all look-ups calls. A name of either header without a row ends the build of the tests.
$(BUILD)/gen/lookups.h: tests/lookups.py shim/driver/cuda.def shim/driver/nvml.def $(HEADERS)
	$(Q)mkdir -p $(@D)
	$(Q)python3 $< $@ $(CUDA_INCLUDE) $(NVML_INCLUDE)
$(BUILD)/tests/preload_no_look_up_finds_a_hidden_device $(BUILD)/tests/preload_no_look_up_finds_a_hidden_instance: \
	$(BUILD)/gen/lookups.h
