# Tests that compare with the simulated card's own account.
$(BUILD)/tests/preload_racing_processes_stay_below_the_limit: $(BUILD)/simgpu/libtruth.a
