# What the command needs beyond its sources: its manual page, and the reading API as a library for other programs.

$(BUILD)/cuquota.1: $(BUILD)/cuquota
	$(call say,MAN,$@)
	$(Q)$< help --man > $@

READER_SRC := shim/cli/reader.c $(wildcard shim/base/*.c) shim/ledger/segment.c shim/ledger/folder.c shim/ledger/why.c shim/ledger/life.c shim/ledger/lockfile.c shim/ledger/heir.c
$(BUILD)/libcuquota_reader.a: $(call obj,$(READER_SRC))
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

ALL += $(BUILD)/cuquota.1 $(BUILD)/libcuquota_reader.a
