# `make demo`: examples/demo/demo.py drives examples/demo/client.c under cuquota.

$(BUILD)/demo/client: examples/demo/client.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 $(WARN) $(CFLAGS) -o $@ $< -ldl

TEST_DEPS += $(BUILD)/demo/client

demo: all $(BUILD)/demo/client
	$(Q)$(PYTHON) examples/demo/demo.py --build $(BUILD)
