# make demo   see what gambol does, on a CPU, with what is in this folder
# make test   all tests          make lint   style and types
# make bench  speed, with baselines in the same run (make bench-blender: posed vertices against Blender)
# make fuzz   20,000 broken files
# make validator  Khronos' glTF-Validator for the tests (needs node 18 or newer; without it they skip what needs it)
# make viewer the player in pages, bundled again from viewer/ (needs node 18 or newer)

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
VALIDATOR := validator/node_modules/.package-lock.json

.PHONY: setup demo test lint format bench bench-blender fuzz validator viewer clean

setup: $(STAMP)

# Exact versions from constraints.txt, so that everybody tests the same. torch is large: any build of it will do.
$(STAMP): pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit("gambol needs Python 3.11 or newer") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[compressed,dev]'
	touch $@

demo: setup
	mkdir -p out && rm -rf out/fox-walk
	$(BIN)/gambol animate fox "a fox is walking" -o out/fox-walk
	@echo
	@echo "out/fox-walk/preview.mp4 shows it, report.html says how good it is; clip.glb opens in Blender and any glTF viewer."
	@echo "Now your own character: $(BIN)/gambol animate hero.glb \"a knight is running\" (or . $(BIN)/activate, then gambol)"

# Where npm is missing or reaches nothing, the tests do without the validator.
test: setup
	-test -e $(VALIDATOR) || $(MAKE) validator
	$(BIN)/python -m pytest -n 2 --dist worksteal

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[bench]'
	$(BIN)/python benchmarks/kinematics.py
	$(BIN)/python benchmarks/skinning.py
	$(BIN)/python benchmarks/rasterizer.py
	$(BIN)/python benchmarks/fit.py
	$(BIN)/python benchmarks/prior.py
	$(BIN)/python benchmarks/animate.py
	$(BIN)/python benchmarks/physics.py --quick
	$(BIN)/python benchmarks/heat.py

# Needs an interpreter with Blender as a module: see docs/ground-truth.md.
bench-blender: setup
	$(BIN)/python benchmarks/blender.py

fuzz: setup
	$(BIN)/python fuzz/fuzz.py

validator: $(VALIDATOR)

$(VALIDATOR): validator/package-lock.json
	cd validator && npm ci
	touch $@

viewer:
	cd viewer && npm ci && npm run build

clean:
	rm -rf $(VENV) out validator/node_modules viewer/node_modules .mypy_cache .ruff_cache .pytest_cache
