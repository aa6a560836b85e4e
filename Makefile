# make demo, make test: see README.md. All of it runs in .environment/, which these targets prepare.
ROBOT ?= tendon_arm
ENTER := environment/enter
OLDEST := .environment/oldest
# Tests of nodes come first, and mostly wait: two more of them than processors.
PARALLEL := --numprocesses=$(shell echo $$((2 + $$(nproc)))) --dist=loadfile --no-loadscope-reorder

.PHONY: help demo test test-oldest soak lint picture docs tables lock clean

help:
	@echo 'make demo [ROBOT=name] [NAMESPACE=name] [DURATION=seconds] [PORT=number]'
	@echo '                                                          a robot in the browser'
	@echo 'make test [ARGS="-k name"]                                all tests'
	@echo 'make test-oldest [ARGS="-k name"]                         tests of the library, oldest versions'
	@echo 'make soak                                                 the fuzz tests, for long'
	@echo 'make lint                                                 style and types'
	@echo 'make picture [ARGS="gripper"]                             the pictures of README.md'
	@echo 'make docs                                                 tables of docs/, from the code; figures'
	@echo 'make tables [ARGS="robots laws"]                          tables of docs/measured.md, hours of work'
	@echo 'make lock                                                 newest versions into requirements.txt'
	@echo 'make clean                                                remove the environment'

demo:
	@$(ENTER) python environment/demo.py --robot '$(ROBOT)' \
	  $(if $(DURATION),--duration '$(DURATION)') $(if $(PORT),--port '$(PORT)') \
	  $(if $(NAMESPACE),--namespace '$(NAMESPACE)')

test:
	@$(ENTER) pytest test $(PARALLEL) $(ARGS)

test-oldest: export NUMBA_CACHE_DIR = $(CURDIR)/$(OLDEST)/kernels
test-oldest: export PYTHONPATH = $(CURDIR)
test-oldest: $(OLDEST)/made
	@$(OLDEST)/bin/python -m cosserat_ros.warm_up
	@$(OLDEST)/bin/python -m pytest test --ignore=test/nodes $(PARALLEL) $(ARGS)

$(OLDEST)/made: environment/oldest.txt
	@rm -rf $(OLDEST)
	@$(or $(PYTHON),python3) -m venv $(OLDEST)
	@$(OLDEST)/bin/pip install --quiet --requirement environment/oldest.txt
	@touch $@

soak: export COSSERAT_FUZZ = 20
soak:
	@$(ENTER) pytest test -k fuzz --timeout 3600 $(ARGS)

lint:
	@$(ENTER) ruff check .
	@$(ENTER) mypy

tables:
	@$(ENTER) python docs/make_measured.py $(ARGS)

picture:
	@$(ENTER) python docs/make_picture.py $(ARGS)

docs:
	@$(ENTER) python docs/make_nodes.py
	@$(ENTER) python docs/make_robots.py
	@$(ENTER) python docs/make_api.py
	@$(ENTER) python docs/make_theory.py
	@$(ENTER) python docs/make_papers.py

lock:
	@$(ENTER) sh -c 'pip install --quiet uv && uv pip compile --quiet --universal --upgrade \
	  --python-version 3.10 --no-header --no-annotate \
	  environment/requirements.in --output-file environment/requirements.txt'

clean:
	rm -rf .environment
