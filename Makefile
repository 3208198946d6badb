# Two commands matter: `make demo` shows the main job, `make test` checks everything.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test setup lint bench docs dist clean

demo: setup
	$(BIN)/conftr demo

test: setup lint
	$(BIN)/python -m pytest -n auto

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

setup: .venv/installed

.venv/installed: pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[test]'
	# Its classification is compared with ours; what its other parts need is gigabytes.
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps torchcp==1.2.1
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
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[dist]'
	rm -rf dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/twine check --strict dist/*
	$(BIN)/python .ci/dist.py dist

clean:
	rm -rf .venv
