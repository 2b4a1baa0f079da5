# Tests that compare with the simulated card's own account.
POLICY_TRUTH := preload_racing_processes_stay_below_the_limit preload_threads_leave_the_baseline \
	preload_threads_retain_the_context_once preload_context_that_is_not_made_is_not_charged \
	preload_greedy_client_backs_off_below_the_limit
$(POLICY_TRUTH:%=$(BUILD)/tests/%): $(BUILD)/simgpu/libtruth.a
