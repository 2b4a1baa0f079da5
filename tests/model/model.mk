# The protocol of the ledger, checked by spin.

.PHONY: model
## model             check the protocol's models by spin, and that planted faults are found; ONLY=pattern, LONG=1
model:
	$(Q)$(PYTHON) tests/model/run.py --build $(BUILD) $(if $(LONG),--long) $(ONLY)
