# The kill-point sweep steps through the shipped objects, which have no named points. First in the link.
$(patsubst tests/step/%.c,$(BUILD)/tests/%,$(wildcard tests/step/proc_*.c)): $(BUILD)/parts.a
$(patsubst tests/step/%.c,$(BUILD)/tests/%,$(wildcard tests/step/preload_*.c)): $(BUILD)/libcuquota_reader.a
