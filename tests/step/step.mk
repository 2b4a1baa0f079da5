# The kill-point sweep steps through the shipped objects, which have no named points. First in the link.
$(patsubst tests/step/%.c,$(BUILD)/tests/%,$(wildcard tests/step/proc_*.c)): $(BUILD)/parts.a
$(BUILD)/tests/preload_ended_at_any_instruction_keeps_the_cap: $(BUILD)/libcuquota_reader.a
