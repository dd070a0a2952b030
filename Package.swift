// swift-tools-version: 6.2

import PackageDescription

/// Every target of ours: Swift 6 language mode (the tools version's default), warnings as errors.
let strict: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]

let argumentParser = Target.Dependency.product(
  name: "ArgumentParser", package: "swift-argument-parser")
let configuration = Target.Dependency.product(
  name: "Configuration", package: "swift-configuration")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let protobuf = Target.Dependency.product(name: "SwiftProtobuf", package: "swift-protobuf")
let serviceLifecycle = Target.Dependency.product(
  name: "ServiceLifecycle", package: "swift-service-lifecycle")

func room(
  _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [],
  resources: [Resource] = []
) -> Target {
  .target(
    name: name, dependencies: dependencies, exclude: ["README.md"] + exclude,
    resources: resources, swiftSettings: strict)
}

func executable(
  _ name: String, _ dependencies: [Target.Dependency], exclude: [String] = [],
  resources: [Resource] = []
) -> Target {
  .executableTarget(
    name: name, dependencies: dependencies, exclude: exclude, resources: resources,
    swiftSettings: strict)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .testTarget(name: name, dependencies: dependencies, swiftSettings: strict)
}

/// The locales whose catalogs are compiled into AlarmText.
let alarmLocales = [
  "en", "ko", "th", "ja", "zh-Hans", "zh-Hant", "vi", "id", "es", "ar", "he",
]

let package = Package(
  name: "magpie",
  platforms: [.macOS(.v15)],
  products: [
    .library(name: "MagpieProducer", targets: ["MagpieProducer"]),
    .library(name: "AlarmText", targets: ["AlarmText"]),
    .executable(name: "magpie", targets: ["magpie"]),
    .executable(name: "fanout-worker", targets: ["fanout-worker"]),
    .executable(name: "notification-worker", targets: ["notification-worker"]),
    .executable(name: "alarm-worker", targets: ["alarm-worker"]),
    // For the fault campaign alone.
    .library(name: "CampaignClock", type: .dynamic, targets: ["CampaignClock"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", .upToNextMinor(from: "1.8.2")),
    .package(url: "https://github.com/apple/swift-configuration", .upToNextMinor(from: "1.4.0")),
    .package(url: "https://github.com/apple/swift-crypto", .upToNextMinor(from: "4.5.2")),
    .package(url: "https://github.com/apple/swift-log", .upToNextMinor(from: "1.16.2")),
    .package(url: "https://github.com/apple/swift-protobuf", .upToNextMinor(from: "1.39.0")),
    .package(
      url: "https://github.com/hummingbird-project/hummingbird", .upToNextMinor(from: "2.28.1")),
    .package(
      url: "https://github.com/swift-server/swift-service-lifecycle",
      .upToNextMinor(from: "2.13.0")),
    // For DeployTests only: Kubernetes and compose files use more of YAML than is worth reading by
    // hand (anchors, merge keys, several documents, block scalars).
    .package(url: "https://github.com/jpsim/Yams", .upToNextMinor(from: "6.2.2")),
  ],
  targets: [
    .systemLibrary(
      name: "CRDKafka", pkgConfig: "rdkafka",
      providers: [.apt(["librdkafka-dev"]), .brew(["librdkafka"])]),
    .systemLibrary(
      name: "CLibPQ", pkgConfig: "libpq", providers: [.apt(["libpq-dev"]), .brew(["libpq"])]),
    .systemLibrary(
      name: "CZstd", pkgConfig: "libzstd",
      providers: [.apt(["libzstd-dev"]), .brew(["zstd"])]),

    room("Events", [crypto, protobuf], exclude: ["proto"]),
    room("Kafka", ["CRDKafka"]),
    room("RecordLog", ["Kafka"]),
    room("MagpieProducer", ["Events", "Kafka"]),
    room("Postgres", ["CLibPQ"]),
    room("Schema", ["Postgres"], resources: [.embedInCode("migrations")]),
    room(
      "Pipeline",
      [
        "Events", "Kafka", "Postgres", "Schema", argumentParser, configuration, hummingbird,
        logging, serviceLifecycle,
      ]),
    room("Archive", ["CZstd", "Kafka", "Pipeline", "RecordLog", crypto, logging]),
    room("Feeds", ["Events", "Pipeline", "Postgres"]),
    room("Notifications", ["Events", "Pipeline", "Postgres", crypto]),
    room(
      "AlarmText", [],
      resources: alarmLocales.map { .embedInCode("Catalogs/\($0).arb") } + [
        .embedInCode("Catalogs/kinds.json")
      ]),
    room("AlarmCatalogs", ["AlarmText"]),
    room("Alarms", ["AlarmText", "Events", "Pipeline", "Postgres"]),
    room("Comparison", ["Events", "Postgres", crypto]),
    room("Model", ["Events"]),
    room(
      "DeepVerification",
      ["AlarmText", "Comparison", "Events", "Kafka", "Model", "Postgres", "RecordLog"]),
    room("Rebuild", ["Events", "Kafka", "Pipeline", "Postgres", "RecordLog", "Schema"]),
    room("EmbeddedStack", ["Events", "Kafka", "Postgres", "Schema"]),
    room("FaultInjection", ["EmbeddedStack", "Postgres"]),
    room("Workload", ["Events"]),

    room(
      "Workers",
      [
        "AlarmCatalogs", "AlarmText", "Alarms", "Feeds", "Notifications", "Pipeline",
        argumentParser,
      ]),

    executable("fanout-worker", ["Workers", argumentParser]),
    executable("notification-worker", ["Workers", argumentParser]),
    executable("alarm-worker", ["Workers", argumentParser]),
    executable(
      "magpie",
      [
        "AlarmCatalogs", "AlarmText", "Alarms", "Archive", "Comparison", "DeepVerification",
        "EmbeddedStack", "Events", "Feeds", "Kafka", "Notifications", "Pipeline", "Postgres",
        "Rebuild", "RecordLog", "Schema", "Workers", "Workload", argumentParser,
      ], exclude: ["README.md"], resources: [.embedInCode("story.jsonl")]),

    .executableTarget(
      name: "producer-example", dependencies: ["Events", "MagpieProducer"],
      path: "Examples/Producer", swiftSettings: strict),
    .executableTarget(
      name: "magpie-bench",
      dependencies: [
        "EmbeddedStack", "Events", "Kafka", "Postgres", "Schema", "Workload", argumentParser,
      ],
      path: "Benchmarks/Pipeline", swiftSettings: strict),
    .executableTarget(
      name: "magpie-campaign",
      dependencies: [
        "Comparison", "DeepVerification", "EmbeddedStack", "Events", "FaultInjection", "Kafka",
        "Model", "Postgres", "RecordLog", "Schema", "Workload", argumentParser,
      ],
      path: "Campaign", exclude: ["Clock", "Mutations", "README.md", "Regressions"],
      swiftSettings: strict),
    .target(name: "CampaignClock", path: "Campaign/Clock"),

    .target(
      name: "LaneSimulation", dependencies: ["Events", "Kafka", "Pipeline", "Workload"],
      path: "Simulation/Lanes", exclude: ["README.md"], swiftSettings: strict),
    .executableTarget(
      name: "magpie-simulate", dependencies: ["LaneSimulation", argumentParser],
      path: "Simulation/Command", swiftSettings: strict),
    tests("SimulationTests", ["LaneSimulation"]),
    .target(
      name: "TestSupport",
      dependencies: ["EmbeddedStack", "Events", "Kafka", "Postgres", "Schema"],
      path: "Tests/TestSupport", swiftSettings: strict),
    tests("EventsTests", ["Events"]),
    tests("KafkaTests", ["Kafka", "TestSupport"]),
    tests(
      "ArchiveTests", ["Archive", "EmbeddedStack", "Kafka", "RecordLog", "TestSupport", crypto]),
    tests("RecordLogTests", ["Kafka", "RecordLog", "TestSupport"]),
    tests("MagpieProducerTests", ["Events", "Kafka", "MagpieProducer", "TestSupport"]),
    tests("PostgresTests", ["EmbeddedStack", "Postgres", "TestSupport"]),
    tests(
      "EmbeddedStackTests",
      ["EmbeddedStack", "Events", "FaultInjection", "Kafka", "Postgres", "TestSupport"]),
    tests("SchemaTests", ["Postgres", "Schema", "TestSupport"]),
    tests(
      "CampaignTests",
      [
        "EmbeddedStack", "Events", "FaultInjection", "Kafka", "Postgres", "TestSupport",
        "magpie-campaign",
      ]),
    tests(
      "FaultInjectionTests",
      ["EmbeddedStack", "FaultInjection", "Kafka", "Postgres", "TestSupport"]),
    tests(
      "PipelineTests",
      ["Events", "FaultInjection", "Kafka", "Pipeline", "Postgres", "TestSupport"]),
    tests("FeedsTests", ["Events", "Feeds", "Model", "Pipeline", "Postgres", "TestSupport"]),
    tests(
      "NotificationsTests",
      ["Events", "Model", "Notifications", "Pipeline", "Postgres", "TestSupport"]),
    .target(name: "AllocationCount", path: "Benchmarks/AllocationCount"),
    .executableTarget(
      name: "alarm-text-bench", dependencies: ["AlarmText", "AllocationCount", "ICUReference"],
      path: "Benchmarks/AlarmText", swiftSettings: strict),
    .executableTarget(
      name: "allocation-bench",
      dependencies: [
        "AlarmText", "Alarms", "AllocationCount", "Events", "Feeds", "Kafka", "Notifications",
        "Pipeline",
      ],
      path: "Benchmarks/Allocations", swiftSettings: strict),
    .target(
      name: "ICUReference", path: "Tests/ICUReference",
      linkerSettings: [.linkedLibrary("icui18n"), .linkedLibrary("icuuc")]),
    tests("AlarmTextTests", ["AlarmText", "ICUReference"]),
    tests(
      "AlarmsTests",
      [
        "AlarmText", "Alarms", "Events", "Model", "Notifications", "Pipeline", "Postgres",
        "TestSupport",
      ]),
    tests("ModelTests", ["Events", "Model", "Workload"]),
    tests(
      "ComparisonTests",
      [
        "Alarms", "Comparison", "DeepVerification", "Events", "Feeds", "Kafka", "Notifications",
        "Pipeline", "Postgres", "RecordLog", "TestSupport", "Workload",
      ]),
    tests(
      "RebuildTests",
      ["Events", "Kafka", "Pipeline", "Postgres", "Rebuild", "RecordLog", "TestSupport"]),
    .systemLibrary(
      name: "COpenSSL", path: "Tests/COpenSSL", pkgConfig: "openssl",
      providers: [.apt(["libssl-dev"]), .brew(["openssl"])]),
    tests(
      "SecurityTests",
      [
        "Archive", "AlarmCatalogs", "AlarmText", "COpenSSL", "Comparison", "EmbeddedStack",
        "Events", "FaultInjection", "Kafka", "Pipeline", "Postgres", "Schema", "TestSupport",
        crypto,
      ]),
    tests("RepositoryTests", []),
    tests(
      "DeployTests",
      [
        "Alarms", "Events", "Feeds", "Notifications", "Pipeline", "TestSupport",
        .product(name: "Yams", package: "Yams"),
      ]),
    tests("WorkloadTests", ["Events", "Workload"]),
    tests(
      "MagpieTests",
      [
        "Alarms", "Archive", "EmbeddedStack", "Events", "Feeds", "Kafka", "Notifications",
        "Pipeline", "Postgres", "RecordLog", "TestSupport",
      ]),
    tests(
      "EndToEndTests",
      [
        "Comparison", "DeepVerification", "EmbeddedStack", "Events", "FaultInjection", "Kafka",
        "MagpieProducer", "Model", "Postgres", "RecordLog", "TestSupport", "Workload",
      ]),
  ],
  cxxLanguageStandard: .cxx17
)

// For an image that runs one suite, without what the others need: MAGPIE_TEST_SUITE=EndToEndTests
// swift build --product magpiePackageTests
if let suite = Context.environment["MAGPIE_TEST_SUITE"] {
  package.targets.removeAll { $0.type == .test && $0.name != suite }
}
