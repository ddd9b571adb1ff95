# For those who type make. start.py does the work, and does it where there is no make too.
PYTHON := $(shell command -v python3 || command -v python)

.PHONY: help lab test soak pins
help:
	@$(PYTHON) start.py --help

lab test soak pins:
	@$(PYTHON) start.py $@ $(ARGS)
