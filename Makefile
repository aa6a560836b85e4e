# make demo, make test: see README.md. All of it runs in .environment/, which these targets prepare.
ROBOT ?= tendon_arm
ENTER := environment/enter

.PHONY: help demo test soak lint benchmark picture docs lock clean

help:
	@echo 'make demo [ROBOT=name] [NAMESPACE=name] [DURATION=seconds] [PORT=number]'
	@echo '                                                          a robot in the browser'
	@echo 'make test [ARGS="-k name"]                                all tests'
	@echo 'make soak                                                 the fuzz tests, for long'
	@echo 'make lint                                                 style and types'
	@echo 'make benchmark                                            times of the engine, as tables'
	@echo 'make picture                                              the picture of README.md'
	@echo 'make docs                                                 tables of docs/, from the code; figures'
	@echo 'make lock                                                 newest versions into requirements.txt'
	@echo 'make clean                                                remove the environment'

demo:
	@$(ENTER) python environment/demo.py --robot '$(ROBOT)' \
	  $(if $(DURATION),--duration '$(DURATION)') $(if $(PORT),--port '$(PORT)') \
	  $(if $(NAMESPACE),--namespace '$(NAMESPACE)')

test:
	@$(ENTER) pytest test $(ARGS)

soak: export COSSERAT_FUZZ = 20
soak:
	@$(ENTER) pytest test -k fuzz --timeout 3600 $(ARGS)

lint:
	@$(ENTER) ruff check .
	@$(ENTER) mypy

benchmark: export OPENBLAS_NUM_THREADS = 1
benchmark:
	@$(ENTER) python benchmarks/cantilever.py
	@$(ENTER) python benchmarks/robots.py
	@$(ENTER) python benchmarks/growth.py
	@$(ENTER) python benchmarks/rigid_chain.py
	@$(ENTER) python benchmarks/contact.py
	@$(ENTER) python benchmarks/start_up.py

picture:
	@$(ENTER) python docs/make_picture.py

docs:
	@$(ENTER) python docs/make_nodes.py
	@$(ENTER) python docs/make_robots.py
	@$(ENTER) python docs/make_theory.py
	@$(ENTER) python docs/make_papers.py

lock:
	@$(ENTER) sh -c 'pip install --quiet uv && uv pip compile --quiet --universal --upgrade \
	  --python-version 3.10 --no-header --no-annotate \
	  environment/requirements.in --output-file environment/requirements.txt'

clean:
	rm -rf .environment
