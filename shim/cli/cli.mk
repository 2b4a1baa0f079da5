# What the command needs beyond its sources: its manual page, and the reading API as a library for other programs.

$(BUILD)/cuquota.1: $(BUILD)/cuquota
	$(call say,MAN,$@)
	$(Q)$< help --man > $@

READER_SRC := shim/cli/reader.c $(wildcard shim/base/*.c) shim/ledger/segment.c shim/ledger/folder.c shim/ledger/why.c shim/ledger/life.c shim/ledger/lockfile.c shim/ledger/heir.c
$(BUILD)/libcuquota_reader.a: $(call obj,$(READER_SRC))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

ALL += $(BUILD)/cuquota.1 $(BUILD)/libcuquota_reader.a

# What the doctor carries along (probe/probe.c). The stand-in gives its linked form the driver's name to need.
PROBES := $(BUILD)/gen/probes
$(PROBES)/stub/libcuda.so.1:
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -shared -x c -Wl,-soname,libcuda.so.1 -o $@ /dev/null
$(PROBES)/probe_linked.so: shim/cli/probe/probe.c shim/cli/probe/names.def $(PROBES)/stub/libcuda.so.1
	$(call say,PROBE,$@)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -O2 -fPIC -fvisibility=hidden -DPROBE_LINKED -s -shared -o $@ $< -Wl,--no-as-needed \
		$(PROBES)/stub/libcuda.so.1
$(PROBES)/probe_opens.so: shim/cli/probe/probe.c shim/cli/probe/names.def
	$(call say,PROBE,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) -O2 -fPIC -fvisibility=hidden -s -shared -o $@ $< -ldl
$(BUILD)/gen/probes.h: shim/cli/probe/embed.py $(PROBES)/probe_linked.so $(PROBES)/probe_opens.so
	$(Q)python3 $^ > $@
GEN += $(BUILD)/gen/probes.h
