# make sim [ARGS=...]   the robot in simulation, e.g. ARGS="--demo --record out.gif"
# make test             style, all tests, and the colcon build; REQUIRE_ALL=1: a test that cannot run here is a failure
#                       (the parts: make style, computing, colcon, waiting, starting)
#                       DISTRO=kilted: on the wheels of that distribution, in .venv_kilted
# make ros DISTRO=kilted   only the tests that talk to ROS
# make both             make test, then make ros on the wheels of OTHER=kilted
# make one ARGS="test/core/gait -k swing"   some of the tests, on the present sources
# make bench [ARGS="tick bus --robot phantomx"]   computing time, bus load and walking quality, as JSON
# make soak | style | clean
# make actions         the types of the actions, msgs/hexapod_msgs, for the ROS wheels of .venv; needs a C++ compiler
# make docs            the documentation as a site, build/docs/index.html; a warning is a failure
# make docs-images [ARGS="plots page"]   the pictures of the documentation; make drawings: those drawn by code alone
# make install-user     the command hexapod of .venv on your PATH, in ~/.local/bin
# make mutation [SEED=1] [DRAW=20] [MUTATE=hexapod_control/core/gait]   mutants that no test detects
# Everything is installed into .venv; a sourced ROS 2 is used, else the ROS wheels are installed with it.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help install-user actions sim one mutation test at_idle_priority real_time computing waiting starting ros both colcon bench soak style drawings docs docs-images clean
.DELETE_ON_ERROR:

PYTHON ?= python3
WORKERS ?= 2
# Tests that wait take a fifth of a core each, heavy ones half of one; test/conftest.py has ROS domains for six workers.
WAITERS ?= 4
STARTERS ?= 3
ARGS ?=
REQUIRE_ALL ?=
export REQUIRE_ALL

# A Python with other ROS wheels that runs make exports these; with them the Python of VENV would load its libraries.
ifdef _ROS_WHEELS_BOOTSTRAP_COMPLETE
unexport _ROS_WHEELS_BOOTSTRAP_COMPLETE LD_LIBRARY_PATH
endif

COMMA := ,
# The wheels to install where no ROS 2 is sourced: jazzy or kilted.
DISTRO ?= jazzy
$(if $(filter jazzy kilted,$(DISTRO)),,$(error DISTRO must be jazzy or kilted, is $(DISTRO): no other has wheels; source it))
VENV := $(abspath .venv$(if $(filter-out jazzy,$(DISTRO)),_$(DISTRO)))
BIN := $(VENV)/bin
PIP_STAGES := $(BIN)/python -m pip install --progress-bar off --disable-pip-version-check
PIP := $(PIP_STAGES) --quiet
# A line for each large package that pip downloads, and one when it installs them all.
STAGES := sed -un -e 's/^ *Downloading \(.* MB)\).*/  downloading \1/p' -e 's/^Installing collected.*/  installing all of them .../p'
WITH_ROS := $(shell [ -n "$${ROS_DISTRO:-}" ] && $(PYTHON) -c 'import rclpy' 2>/dev/null && echo yes)
EXTRAS := sim$(COMMA)record$(if $(WITH_ROS),,$(COMMA)ros$(if $(filter-out jazzy,$(DISTRO)),-$(DISTRO)))
SOURCES := $(shell find hexapod_control config launch urdf resource scripts -type f -not -name '*.pyc' 2>/dev/null)
# Nothing sets AMENT_PREFIX_PATH in a venv, and without it no package finds its share folder. PYTHONDONTWRITEBYTECODE is
# cleared because pytest would compile all tests again at every start.
ENV := PYTHONSAFEPATH=1 PYTHONDONTWRITEBYTECODE= AMENT_PREFIX_PATH="$(VENV)$${AMENT_PREFIX_PATH:+:$$AMENT_PREFIX_PATH}" MUJOCO_GL="$${MUJOCO_GL:-egl}" PATH="$(BIN):$$PATH"

# Not the command pytest: beside a sourced ROS pip finds that of Ubuntu and installs none; it lacks the plugins of VENV.
PYTEST := python -m pytest -q

help:
	@sed -n 's/^# //p' Makefile

# In a terminal the program runs as a job of its own, so that Ctrl-C ends it and not make, which then exits with 0.
sim: $(VENV)/.package
	@if [ -t 0 ]; then set -m; fi; $(ENV) hexapod sim $(ARGS); exit 0

install-user: $(VENV)/.package
	@mkdir -p ~/.local/bin && ln -sfn $(BIN)/hexapod ~/.local/bin/hexapod
	@case ":$$PATH:" in *":$$HOME/.local/bin:"*) ;; *) echo 'in this terminal: export PATH=~/.local/bin:$$PATH';; esac

bench: $(VENV)/.package
	@$(ENV) PYTHONPATH=bench python bench/measure.py $(ARGS)

soak: $(VENV)/.package $(VENV)/.test
	@$(ENV) HEXAPOD_SOAK=1 $(PYTEST) -n $(WORKERS) -k soak test

one: $(VENV)/.package $(VENV)/.test
	@$(ENV) $(PYTEST) $(ARGS)

SEED ?= 1
DRAW ?= 20
mutation: $(VENV)/.package $(VENV)/.test
	@$(ENV) PYTHONPATH=scripts python scripts/mutation.py --seed $(SEED) --draw $(DRAW) --workers $(WORKERS) \
	  $(if $(MUTATE),--mutate $(MUTATE))

# Style, the colcon build and tests that only compute run at idle priority, beside the tests that wait in real time.
# Of the latter, heavy tests start whole graphs and come after the others. The names of repeated tests are printed last.
test: $(VENV)/.package $(VENV)/.test $(if $(WITH_ROS),,$(if $(shell command -v c++),$(VENV)/.actions $(VENV)/.test_messages))
	@rm -f $(REPETITION); result=0; $(MAKE) --no-print-directory -j 2 real_time at_idle_priority || result=$$?; \
	if [ -s $(REPETITION) ]; then echo "Tests that failed and passed when repeated alone:"; cat $(REPETITION); fi; \
	exit $$result

real_time: $(VENV)/.package $(VENV)/.test
	@$(MAKE) --no-print-directory waiting && $(MAKE) --no-print-directory starting

# Prints its output in one piece when it ends. Style and colcon use one core each and run first, at the same time.
at_idle_priority:
	@log=$$(mktemp); trap 'cat "$$log"; rm "$$log"' EXIT; \
	chrt --idle 0 $(MAKE) --no-print-directory -j 2 style colcon computing >"$$log" 2>&1

REPETITION := .pytest_cache/repetition
FILES = test
MEASURED = $(PYTEST) --durations=5 -o cache_dir=.pytest_cache/$@ $(FILES)
# Markers of the tests that this machine cannot run, as the end of an expression for pytest -m.
LEFT_OUT = left_out=$$($(BIN)/python scripts/machine.py test); left_out=$${left_out:+ and $$left_out}

# On a loaded machine a test can fail for lack of time: failed tests run once more, alone, and are listed.
# $(call RUN_AND_REPEAT_FAILED,expression of markers,workers)
define RUN_AND_REPEAT_FAILED
	@$(LEFT_OUT); export $(ENV); tests=($(MEASURED) -m "$(1)$$left_out"); \
	"$${tests[@]}" -n $(2) --dist $(DIST) || \
	"$${tests[@]}" --last-failed --last-failed-no-failures none --repetition $(REPETITION)
endef

DIST = worksteal
computing: $(VENV)/.package $(VENV)/.test
	$(call RUN_AND_REPEAT_FAILED,not waits,$(WORKERS))

waiting starting ros: MEASURED += --timeout 120
waiting: $(VENV)/.package $(VENV)/.test
	$(call RUN_AND_REPEAT_FAILED,waits and not heavy,$(WAITERS))

# Only the files that have heavy tests are collected; those of one file share a graph, the files with most tests first.
starting: DIST = loadscope
starting: FILES = $$(grep -rlF pytest.mark.heavy --include='test_*.py' test | sort)
starting: $(VENV)/.package $(VENV)/.test
	$(call RUN_AND_REPEAT_FAILED,waits and heavy,$(STARTERS))

# The rest of the suite is the same on every distribution.
ros: FILES = test/ros test/nodes test/bags test/clients test/cli/robot
ros: $(VENV)/.package $(VENV)/.test
	$(call RUN_AND_REPEAT_FAILED,not heavy and not browser,$(WAITERS))

OTHER ?= kilted
both:
	@$(MAKE) --no-print-directory test && $(MAKE) --no-print-directory ros DISTRO=$(OTHER)

# In a separate workspace, installed outside the venv; all tests run on the wheel too.
colcon: $(VENV)/.package $(VENV)/.test
	@export $(ENV); scripts/ci/colcon.sh

style: $(VENV)/.package $(VENV)/.test
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/lint-imports --no-cache --no-logo
	@$(BIN)/mypy hexapod_control bench

# Drawings of the documentation that need no simulation and no browser.
drawings: $(VENV)/.package
	@$(MAKE) --no-print-directory docs-images ARGS="drawings/architecture drawings/own_robot drawings/gamepad"

docs-images: $(VENV)/.package $(VENV)/.test
	@$(ENV) python docs/figures/images.py $(ARGS)

docs: $(VENV)/.package
	@$(BIN)/python -c 'import myst_parser, sphinx_rtd_theme' 2>/dev/null || { $(PIP) ".[docs]"; rm -rf build *.egg-info; }
	@$(ENV) sphinx-build --fail-on-warning --keep-going --quiet --fresh-env . build/docs

clean:
	rm -rf .venv .venv_* build docs/api install log *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(VENV)/.made:
	@$(PYTHON) scripts/machine.py venv
	@$(PYTHON) -m venv $(if $(WITH_ROS),--system-site-packages) $(VENV)
	@touch $@

# Installs all dependencies the first time and after a change of setup.py, otherwise only the package.
$(VENV)/.package: $(SOURCES) package.xml setup.py setup.cfg | $(VENV)/.made
	@rm -rf build *.egg-info; \
	if [ $(VENV)/.needs -nt setup.py ]; then $(PIP) --no-deps --force-reinstall .; else \
	  echo "installing hexapod_control and what it needs into $(notdir $(VENV)) ..."; \
	  $(PIP_STAGES) ".[$(EXTRAS)]" | $(STAGES); touch $(VENV)/.needs; fi; \
	rm -rf build *.egg-info
	@touch $@

actions: $(VENV)/.actions

$(VENV)/.actions: scripts/messages.sh $(shell find msgs -type f) | $(VENV)/.package
	@echo "generating the types of the actions for $(notdir $(VENV)) ..."
	@$(PIP) ".[actions$(if $(filter-out jazzy,$(DISTRO)),-$(DISTRO))]"; rm -rf build *.egg-info; scripts/messages.sh $(VENV) msgs/hexapod_msgs
	@touch $@

# Messages of optional packages that have no wheels, for their tests.
TEST_MESSAGES := test/data/grid_map_msgs test/data/nav2_msgs
$(VENV)/.test_messages: scripts/messages.sh $(shell find $(TEST_MESSAGES) -type f) | $(VENV)/.actions
	@echo "generating the types of $(notdir $(TEST_MESSAGES)) for $(notdir $(VENV)) ..."
	@scripts/messages.sh $(VENV) $(TEST_MESSAGES)
	@touch $@

# Collecting the tests compiles them; without it every worker of the first `make test` would compile all of them.
$(VENV)/.test: setup.py | $(VENV)/.package
	@echo "installing the tools for the tests into $(notdir $(VENV)) ..."
	@$(PIP) ".[test,style]" 'setuptools<80' colcon-common-extensions; rm -rf build *.egg-info
	@$(ENV) $(PYTEST) --collect-only test >/dev/null || true
	@touch $@
