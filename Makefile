# Everything runs in one virtual environment, made on first use. `make` lists the targets.

PYTHON ?= python3
VENV ?= .venv
ARGS ?=

# A sourced ROS installation must not leak into the virtual environment, which has its own ROS: PYTHONPATH comes before
# the environment's packages (an rclpy or pinocchio for another Python), AMENT_PREFIX_PATH names other packages'
# files, RMW_IMPLEMENTATION may name a middleware that isn't there, and LD_LIBRARY_PATH makes the wheels load that
# ROS's libraries. LD_LIBRARY_PATH is left alone where no ROS is sourced. The last variable is the ROS wheels' mark
# "libraries already found", wrong if it comes from another environment. To test against the sourced ROS itself,
# use `colcon test`. PYTHONDONTWRITEBYTECODE would make each of the many processes of the tests compile the package anew.
unexport PYTHONDONTWRITEBYTECODE PYTHONPATH PYTHONHOME AMENT_PREFIX_PATH RMW_IMPLEMENTATION _ROS_WHEELS_BOOTSTRAP_COMPLETE
ifneq ($(AMENT_PREFIX_PATH),)
unexport LD_LIBRARY_PATH
endif

BIN := $(VENV)/bin
# Python compiles a module where it is first imported: only a third of what is installed ever is.
INSTALL := $(BIN)/python -m pip --disable-pip-version-check install --no-compile --editable
RUN := $(VENV)/.installed-run
ETHERCAT := $(VENV)/.installed-ethercat
DEV := $(VENV)/.installed-dev
DOCS := $(VENV)/.installed-docs
# The simulated Franka robot needs an older NumPy and MuJoCo: it has an environment of its own.
FRANKA := $(VENV)/.installed-franka
FRANKA_SIM := $(VENV)-franka-sim
# LeRobot brings PyTorch, some gigabytes, and an older NumPy: it has one, too.
LEROBOT := $(VENV)-lerobot
# pip says nothing while it unpacks: a line each 8 s does.
LINES := while sleep 8 >/dev/null 2>&1; do echo "… $$(ls $(VENV)/lib/python3*/site-packages | wc -l) of about 300 files and folders are unpacked"; done & lines=$$!; trap "kill $$lines" EXIT
# What is compiled already is only loaded. Programs that start at once would wait for one another else.
WARM_UP := $(BIN)/python -m robot_control_ros.control.warm_up
# Editors look them up by the first line of the YAML files in config. They are made, not kept.
SCHEMAS := config/schemas
MAKE_SCHEMAS := $(BIN)/robot_control docs --schemas $(SCHEMAS)

.PHONY: help demo demo-ethercat demo-planar test test-franka test-lerobot test-long test-all lint site schemas browser warm-up screenshots bench clean

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22
	@echo "ARGS='…' passes arguments on; VENV and PYTHON choose the environment ($(VENV)) and its interpreter ($(PYTHON))."

# The control laws are compiled at the first start, while the page opens.
demo: $(RUN) ## a simulated arm under compliant control, and its page in the browser
	$(BIN)/robot_control demo $(ARGS)

demo-ethercat: $(ETHERCAT) ## six emulated drives on an EtherCAT bus along a contour
	$(BIN)/python -m evidence contour $(ARGS)

demo-planar: $(RUN) ## a planar arm in the browser: drag it, or its target
	$(BIN)/robot_control planar $(ARGS)

# A browser is loaded while the processors compile.
test: $(DEV) ## the tests, without the long ones: the pure ones, and those of the system
	@$(MAKE) --no-print-directory --jobs=2 browser warm-up
	@$(BIN)/python test/support/run_parts.py $(ARGS)

warm-up: $(DEV)
	@$(WARM_UP)

test-all: test test-long ## all tests: also those that take minutes each

test-long: $(DEV) ## the long tests alone
	@$(WARM_UP)
	@$(BIN)/python test/support/run_parts.py --long $(ARGS)

test-franka: $(FRANKA) $(FRANKA_SIM)/.installed ## the long tests of the Franka driver, on a simulated robot
	@$(WARM_UP)
	FRANKA_SIM_PYTHON=$(abspath $(FRANKA_SIM))/bin/python $(BIN)/python -m pytest -p no:randomly test/franka $(ARGS)

test-lerobot: $(DEV) $(LEROBOT)/.installed ## LeRobot itself records, trains and rolls out on simulated arms (8 GB to install)
	@$(WARM_UP)
	LEROBOT_PYTHON=$(abspath $(LEROBOT))/bin/python $(BIN)/python -m pytest -p no:randomly test/lerobot $(ARGS)

lint: $(DEV) ## style, formatting, types, who imports whom, names, and the language of the pages
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python lint/names.py
	$(BIN)/python lint/tests.py
	$(BIN)/python lint/docs.py
	$(BIN)/python lint/reading.py

site: $(DOCS) ## the pages as a site, with search, in build/site; a dead link is an error
	$(BIN)/python docs/site/make_site.py $(ARGS)

schemas: $(RUN) ## JSON Schemas of the YAML files, for editors, into config/schemas
	$(MAKE_SCHEMAS)

# Chromium for the tests of the page: Debian's, where there is none and it can be installed.
browser: $(DEV)
	@$(BIN)/python test/support/browser.py || { \
		test "$$(id -u)" = 0 && grep -qx ID=debian /etc/os-release && echo "Installing Chromium (a minute) …" && \
		DEBIAN_FRONTEND=noninteractive timeout 300 sh -c \
			'apt-get update && apt-get install -y --no-install-recommends chromium' >/dev/null 2>&1 </dev/null; \
	} || echo "No Chromium: the tests of the page in a browser are skipped (apt-get install chromium, or set CHROMIUM)"

screenshots: $(DEV) browser ## the pictures of the pages in docs/images, taken anew
	$(BIN)/python test/support/screenshots.py $(ARGS)

bench: $(DEV) ## timing of the control loop
	$(BIN)/python -m evidence speed $(ARGS)

clean: ## remove the environment, builds and caches
	rm -rf $(VENV) $(VENV)-franka-sim $(VENV)-lerobot .venv-ci $(SCHEMAS) demo-output reproduction stability speed.json soak.png build dist *.egg-info robot_control_learning/build robot_control_learning/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -path ./.git -prune -o -type d -name __pycache__ -exec rm -rf {} +

$(VENV)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "$$($(PYTHON) --version 2>&1) is too old: MuJoCo needs Python 3.11 or newer. Newer ones here:" \
			$$(for minor in 14 13 12 11; do command -v python3.$$minor; done) >&2; \
		echo "Name one, as in: make $(or $(firstword $(MAKECMDGOALS)),demo) PYTHON=python3.12." \
			"Ubuntu 24.04 and Debian 12 have one; elsewhere pyenv or uv install it." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(RUN): setup.py | $(VENV)/pyvenv.cfg
	@echo "Installing ROS 2, Pinocchio, MuJoCo and the page's library into $(VENV): one to three minutes the first time."
	@echo "pip shows each package and its size as it loads it, and unpacks them then: about 1.1 GB in all."
	@$(LINES); $(INSTALL) '.[ros,sim,dashboard,records]'
	@touch $@

$(ETHERCAT): $(RUN)
	@echo "Installing the EtherCAT master into $(VENV) …"
	@$(INSTALL) '.[ros,sim,dashboard,records,ethercat]'
	@touch $@

$(DOCS): $(RUN)
	@echo "Installing what builds the site into $(VENV) …"
	@$(INSTALL) '.[docs]'
	@touch $@

$(FRANKA): $(DEV)
	@echo "Installing Franka's library into $(VENV) …"
	@$(INSTALL) '.[franka]'
	@touch $@

$(FRANKA_SIM)/.installed:
	@echo "Installing the simulated Franka robot into $(FRANKA_SIM) …"
	@$(PYTHON) -m venv $(FRANKA_SIM)
	@$(FRANKA_SIM)/bin/python -m pip --disable-pip-version-check install 'franka-sim==1.1.7'
	@touch $@

$(LEROBOT)/.installed: setup.py robot_control_learning/pyproject.toml
	@echo "Installing LeRobot and PyTorch into $(LEROBOT): some gigabytes, ten minutes or more …"
	@$(PYTHON) -m venv $(LEROBOT)
	@$(LEROBOT)/bin/python -m pip --disable-pip-version-check install --no-compile \
		--editable '.[sim]' --editable './robot_control_learning[lerobot]'
	@touch $@

# At once with what runs needs, where both are missing: pip is slow to look again.
$(DEV): setup.py robot_control_learning/pyproject.toml | $(VENV)/pyvenv.cfg
	@echo "Installing ROS 2, Pinocchio, MuJoCo and what tests and lint need into $(VENV): one to three minutes the first time."
	@$(INSTALL) '.[ros,sim,dashboard,records,ethercat,can,tuning,test,dev]' --editable ./robot_control_learning
	@$(MAKE_SCHEMAS)
	@touch $(RUN) $(ETHERCAT) $@
