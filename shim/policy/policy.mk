# Tests that compare with the simulated card's own account.
POLICY_TRUTH := preload_racing_processes_stay_below_the_limit preload_threads_leave_the_baseline \
	preload_threads_retain_the_context_once preload_context_that_is_not_made_is_not_charged \
	preload_greedy_client_backs_off_below_the_limit preload_racing_programs_get_one_grant \
	preload_killed_programs_leave_no_drift \
	preload_every_tenant_of_a_card_that_is_given_out_whole_gets_its_limit
$(POLICY_TRUTH:%=$(BUILD)/tests/%): $(BUILD)/simgpu/libtruth.a
# Tests that compare with what stands in the ledger.
POLICY_LEDGER := preload_threads_leave_the_baseline preload_nccl_start_charges_no_device \
	preload_killed_programs_leave_no_drift preload_forks_beside_allocations_do_not_hang \
	preload_forked_child_gets_the_drivers_code
$(POLICY_LEDGER:%=$(BUILD)/tests/%): $(BUILD)/libcuquota_reader.a
POLICY_BOTH := preload_long_churn_costs_and_leaves_the_same preload_many_programs_start_at_once \
	preload_one_ledger_is_as_fast_as_many preload_small_request_under_way_is_not_shown \
	preload_request_that_turns_out_otherwise_is_shown_as_it_is
$(POLICY_BOTH:%=$(BUILD)/tests/%): $(BUILD)/libcuquota_reader.a $(BUILD)/simgpu/libtruth.a
