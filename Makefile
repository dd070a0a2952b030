# Start here: `make demo` runs a demonstration, `make test` runs all tests.

export SWIFT ?= swift
# SwiftPM passes a package's traits in a set's order, which is random by default. Each build would then
# recompile such a package and its dependents.
BUILD = SWIFT_DETERMINISTIC_HASHING=1 $(SWIFT) build
BUILD_FLAGS ?= --explicit-target-dependency-import-check error
SOURCES = Package.swift Plugins Sources Tests Examples Benchmarks Campaign Simulation

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: demo
demo: magpie ## Publish a few users' events to an embedded stack and show what each user sees
	"$$($(SWIFT) build --show-bin-path)"/magpie demo

.PHONY: up
up: magpie ## Start the embedded stack with the pages, and keep it running until interrupted
	"$$($(SWIFT) build --show-bin-path)"/magpie up --pages

.PHONY: magpie
magpie: deps
	$(BUILD) $(BUILD_FLAGS) --product magpie

.PHONY: build
build: deps ## Build everything except the tests
	$(BUILD) $(BUILD_FLAGS)

.PHONY: test
test: test-deps ## Run all tests, including the end-to-end tests
	$(BUILD) --build-tests $(BUILD_FLAGS)
	scripts/run-all-tests

.PHONY: upgrade-test
upgrade-test: ## Upgrade a running system with data from the revision OLD to this one
	$(BUILD) $(BUILD_FLAGS)
	scripts/upgrade-test $(OLD)

.PHONY: e2e
e2e: ## Run the end-to-end tests and the container failure cases with Docker Compose
	scripts/e2e

.PHONY: e2e-kafka
e2e-kafka: test-deps ## Run end-to-end tests, faults and benchmarks on the Kafka in MAGPIE_KAFKA_BOOTSTRAP (FULL=1)
	$(BUILD) --build-tests $(BUILD_FLAGS)
	$(if $(FULL),$(MAKE) bench-build)
	scripts/e2e-kafka $(if $(FULL),--full)

SEED ?= 1
MINUTES ?= 2

.PHONY: campaign
campaign: build ## Inject faults for MINUTES on a schedule derived from SEED, and check all guarantees
	MAGPIE_CAMPAIGN_COMMIT=$$(git describe --always --dirty 2>/dev/null) \
	  "$$($(SWIFT) build --show-bin-path)"/magpie-campaign --seed $(SEED) --minutes $(MINUTES) \
	  $(CAMPAIGN_FLAGS)

.PHONY: bench
bench: bench-build ## Measure performance and compare it with reference bounds (release build; about forty minutes)
	$(RELEASE_BIN)/magpie-bench measure $(BENCH_FLAGS)
	$(RELEASE_BIN)/alarm-text-bench
	$(RELEASE_BIN)/allocation-bench

.PHONY: bench-report
bench-report: ## Write the tables and plots of docs/performance.md from the results of bench
	$(RELEASE_BIN)/magpie-bench report

.PHONY: bench-quick
bench-quick: build ## Check that the benchmarks run, invariants hold and hot functions do not allocate more
	"$$($(SWIFT) build --show-bin-path)"/magpie-bench measure --quick $(BENCH_FLAGS)
	"$$($(SWIFT) build --show-bin-path)"/allocation-bench --check

RELEASE_BIN = "$$($(SWIFT) build -c release --show-bin-path)"
# The benchmark starts the workers beside its own executable, so they need the same build configuration.
BENCH_PRODUCTS = magpie-bench magpie fanout-worker notification-worker alarm-worker \
  reminder-worker push-worker magpie-gateway alarm-text-bench allocation-bench

.PHONY: bench-build
bench-build: deps
	for product in $(BENCH_PRODUCTS); do \
	  $(BUILD) -c release --product $$product || exit 1; \
	done

SCHEDULES ?= 1000000

.PHONY: simulate
simulate: deps ## Run the lane state machine through generated fault schedules (release build; SEED, SCHEDULES)
	$(BUILD) -c release --product magpie-simulate
	$(RELEASE_BIN)/magpie-simulate --schedules $(SCHEDULES) $(if $(SEED),--seed $(SEED)) $(SIMULATE_FLAGS)

.PHONY: lint
lint: ## Check the format
	$(SWIFT) format lint --strict --recursive --parallel $(wildcard $(SOURCES))

.PHONY: format
format: ## Format the sources in place
	$(SWIFT) format --in-place --recursive --parallel $(wildcard $(SOURCES))

.PHONY: deps
deps: ## Install missing system packages (apt or Homebrew)
	@scripts/install-dependencies

.PHONY: test-deps
test-deps: ## The same, and the browser and the Python packages of the tests
	@scripts/install-dependencies --tests
	@scripts/install-python Tests/PushTests/push-tests.txt || echo "The tests that need them are skipped."

.PHONY: clean
clean: ## Remove build products and the embedded stack's data
	rm -rf .build .magpie
