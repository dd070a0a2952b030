# One image with all executables: magpie, the entry point, and the five workers and the gateway, which are
# links to it.
#
#   docker build --tag magpie .
#   docker run --rm magpie --help
#   docker run --rm --entrypoint fanout-worker magpie --help

FROM swift:6.3-bookworm AS toolchain
RUN apt-get update -qq \
  && DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends \
    libpq-dev librdkafka-dev libzstd-dev pkg-config zlib1g-dev >/dev/null \
  && rm -rf /var/lib/apt/lists/*
# SwiftPM passes a package's traits in a set's order, which is random by default. Each build would then
# recompile such a package and its dependents.
ENV SWIFT_DETERMINISTIC_HASHING=1
WORKDIR /src

# The cache mount keeps compiled dependencies, and those of our own modules that did not change.
FROM toolchain AS build
COPY . .
RUN --mount=type=cache,id=magpie-release,target=/build,sharing=locked \
  swift build -c release --static-swift-stdlib --scratch-path /build --product magpie \
  && install -D --strip --target-directory /out /build/release/magpie \
  && for worker in fanout notification alarm reminder push; do ln -s magpie /out/$worker-worker; done \
  && ln -s magpie /out/magpie-gateway

# librdkafka 2.8 fixes bugs of the older version in the build stage, and is compatible with its
# headers. tzdata-legacy has the names that many devices still report, such as Asia/Saigon. Nothing in
# the image needs a shell.
FROM debian:trixie-slim AS libraries
RUN apt-get update -qq \
  && DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends \
    ca-certificates libpq5 librdkafka1 libstdc++6 libzstd1 tzdata tzdata-legacy >/dev/null \
  && rm -rf /var/lib/apt/lists/* /var/cache/debconf/* /var/log/* \
  && useradd --system --uid 65532 --no-create-home --home-dir /nonexistent magpie

# The end-to-end tests and the fault campaign, which run the executables as processes. This is a debug
# build: it shares nothing with the release build, but needs few of the dependencies.
FROM toolchain AS build-e2e
COPY . .
RUN --mount=type=cache,id=magpie-e2e,target=/build,sharing=locked \
  export MAGPIE_TEST_SUITE=EndToEndTests \
  && swift build --product magpiePackageTests --scratch-path /build \
  && swift build --product magpie-campaign --scratch-path /build \
  && install -D --target-directory /out /build/debug/magpiePackageTests.xctest /build/debug/magpie-campaign \
  && install -D --target-directory /out/lib "$(dirname "$(readlink -f "$(command -v swift)")")"/../lib/swift/linux/*.so

FROM libraries AS runtime
LABEL org.opencontainers.image.title="Magpie" \
  org.opencontainers.image.description="Turns a social app's events into feeds, notifications and alarms" \
  org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /out/ /usr/local/bin/
# Other containers read the endpoints, and each worker has its own address.
ENV MAGPIE_HTTP_HOST=0.0.0.0 MAGPIE_HTTP_PORT=9470
EXPOSE 9470
USER 65532:65532
# Checks whether a worker can commit.
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --start-interval=1s \
  CMD ["magpie", "healthcheck"]
ENTRYPOINT ["magpie"]
CMD ["--help"]

FROM runtime AS e2e
USER root
# The campaign crashes its own PostgreSQL.
RUN apt-get update -qq \
  && DEBIAN_FRONTEND=noninteractive apt-get install -qq --no-install-recommends \
    kcat postgresql-17 >/dev/null \
  && rm -rf /var/lib/apt/lists/*
COPY --from=build-e2e /out/ /opt/e2e/
# The tests look for the executables beside themselves, and for these files at their build path.
RUN ln -s /usr/local/bin/* /opt/e2e/
COPY README.md /src/
COPY Campaign/Regressions/ /src/Campaign/Regressions/
ENV LD_LIBRARY_PATH=/opt/e2e/lib
USER 65532:65532
WORKDIR /tmp
HEALTHCHECK NONE
ENTRYPOINT ["/opt/e2e/magpiePackageTests.xctest", "--testing-library", "swift-testing"]
CMD ["--no-parallel"]

# `docker build` builds the last stage by default.
FROM runtime
