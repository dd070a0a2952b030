# Everything a newcomer needs: `make demo` to see it work, `make test` to prove that it does.

export SWIFT ?= swift
# SwiftPM passes a package's traits in the order of a set: random, unless told, so that such a package
# and all that depends on it would be compiled again each time.
BUILD = SWIFT_DETERMINISTIC_HASHING=1 $(SWIFT) build
BUILD_FLAGS ?= --explicit-target-dependency-import-check error
SOURCES = Package.swift Sources Tests Examples Benchmarks Campaign Simulation

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

.PHONY: demo
demo: build ## Play a small story through the whole embedded stack and show what people see
	$$($(SWIFT) build --show-bin-path)/magpie demo

.PHONY: up
up: build ## Start the embedded stack and keep it running until interrupted
	$$($(SWIFT) build --show-bin-path)/magpie up

.PHONY: build
build: deps ## Build everything but the tests
	$(BUILD) $(BUILD_FLAGS)

.PHONY: test
test: deps ## Run all the tests, end to end included
	$(BUILD) --build-tests $(BUILD_FLAGS)
	@# Apart, because they wait for processes and two processors are soon busy; whole stacks one by one.
	scripts/run-tests --skip 'EndToEndTests|MagpieTests\.|SecurityTests\.|CampaignTests\.FaultTests'
	scripts/run-tests --filter 'MagpieTests\.'
	scripts/run-tests --filter 'SecurityTests\.'
	scripts/run-tests --no-parallel --filter 'EndToEndTests|CampaignTests.FaultTests'

.PHONY: upgrade-test
upgrade-test: ## Upgrade a running system of the revision OLD, with data in it, to this one
	$(BUILD) $(BUILD_FLAGS)
	scripts/upgrade-test $(OLD)

.PHONY: e2e
e2e: ## Run the end-to-end tests and the failure cases of containers with Docker Compose
	scripts/e2e

.PHONY: e2e-kafka
e2e-kafka: deps ## Run end-to-end tests, faults and benchmarks on the Kafka in MAGPIE_KAFKA_BOOTSTRAP (FULL=1)
	$(BUILD) --build-tests $(BUILD_FLAGS)
	$(if $(FULL),$(MAKE) bench-build)
	scripts/e2e-kafka $(if $(FULL),--full)

SEED ?= 1
MINUTES ?= 2

.PHONY: campaign
campaign: build ## Inject faults for MINUTES on a schedule that follows from SEED, and check everything
	MAGPIE_CAMPAIGN_COMMIT=$$(git describe --always --dirty 2>/dev/null) \
	  $$($(SWIFT) build --show-bin-path)/magpie-campaign --seed $(SEED) --minutes $(MINUTES) \
	  $(CAMPAIGN_FLAGS)

.PHONY: bench
bench: bench-build ## Measure everything beside its bounds (release build; about ten minutes)
	$(RELEASE_BIN)/magpie-bench measure $(BENCH_FLAGS)
	$(RELEASE_BIN)/alarm-text-bench
	$(RELEASE_BIN)/allocation-bench

.PHONY: bench-report
bench-report: ## Write tables and plots of docs/performance.md from what bench measured
	$(RELEASE_BIN)/magpie-bench report

.PHONY: bench-quick
bench-quick: build ## Check that the benchmarks run, invariants hold and hot functions allocate no more
	$$($(SWIFT) build --show-bin-path)/magpie-bench measure --quick $(BENCH_FLAGS)
	$$($(SWIFT) build --show-bin-path)/allocation-bench --check

RELEASE_BIN = $$($(SWIFT) build -c release --show-bin-path)
# What runs beside the benchmark is built like it: it starts the workers that lie next to itself.
BENCH_PRODUCTS = magpie-bench magpie fanout-worker notification-worker alarm-worker \
  alarm-text-bench allocation-bench

.PHONY: bench-build
bench-build: deps
	for product in $(BENCH_PRODUCTS); do \
	  $(BUILD) -c release --product $$product || exit 1; \
	done

SCHEDULES ?= 1000000

.PHONY: simulate
simulate: deps ## Run the lanes' decisions in generated schedules of faults (release build; SEED, SCHEDULES)
	$(BUILD) -c release --product magpie-simulate
	$(RELEASE_BIN)/magpie-simulate --schedules $(SCHEDULES) $(if $(SEED),--seed $(SEED)) $(SIMULATE_FLAGS)

.PHONY: lint
lint: ## Check the format
	$(SWIFT) format lint --strict --recursive --parallel $(wildcard $(SOURCES))

.PHONY: format
format: ## Format the sources in place
	$(SWIFT) format --in-place --recursive --parallel $(wildcard $(SOURCES))

.PHONY: deps
deps: ## Install the system packages that are missing (apt or Homebrew)
	@scripts/install-dependencies

.PHONY: clean
clean: ## Remove what was built and the embedded stack's data
	rm -rf .build .magpie
