// swift-tools-version: 6.2

import PackageDescription

/// Every target of ours: Swift 6 language mode (the tools version's default), warnings as errors.
let strict: [SwiftSetting] = [
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]

let asyncHTTPClient = Target.Dependency.product(
  name: "AsyncHTTPClient", package: "async-http-client")
let argumentParser = Target.Dependency.product(
  name: "ArgumentParser", package: "swift-argument-parser")
let configuration = Target.Dependency.product(
  name: "Configuration", package: "swift-configuration")
let cryptoExtras = Target.Dependency.product(name: "CryptoExtras", package: "swift-crypto")
let crypto = Target.Dependency.product(name: "Crypto", package: "swift-crypto")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let hummingbirdHTTP2 = Target.Dependency.product(
  name: "HummingbirdHTTP2", package: "hummingbird")
let hummingbirdCore = Target.Dependency.product(name: "HummingbirdCore", package: "hummingbird")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let jwt = Target.Dependency.product(name: "JWTKit", package: "jwt-kit")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioEmbedded = Target.Dependency.product(name: "NIOEmbedded", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let nioPosix = Target.Dependency.product(name: "NIOPosix", package: "swift-nio")
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let nioHTTPTypes = Target.Dependency.product(name: "NIOHTTPTypes", package: "swift-nio-extras")
let nioHTTPTypesHTTP1 = Target.Dependency.product(
  name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras")
let protobuf = Target.Dependency.product(name: "SwiftProtobuf", package: "swift-protobuf")
let swiftASN1 = Target.Dependency.product(name: "SwiftASN1", package: "swift-asn1")
let x509 = Target.Dependency.product(name: "X509", package: "swift-certificates")
let yams = Target.Dependency.product(name: "Yams", package: "Yams")
let serviceLifecycle = Target.Dependency.product(
  name: "ServiceLifecycle", package: "swift-service-lifecycle")

/// A library in the folder of its name: `Sources/<folder>/<name>`.
func module(
  _ name: String, in folder: String = "", _ dependencies: [Target.Dependency],
  exclude: [String] = [], embedsTexts: Bool = false
) -> Target {
  .target(
    name: name, dependencies: dependencies, path: "Sources/\(folder)/\(name)",
    exclude: ["README.md"] + exclude, swiftSettings: strict,
    plugins: embedsTexts ? ["EmbedTexts"] : [])
}

/// A worker's executable. What it does is in the libraries beside it.
func worker(_ name: String) -> Target {
  .executableTarget(
    name: name, dependencies: ["Service", "WorkerCommands", argumentParser],
    path: "Sources/Workers/\(name)/Executable", swiftSettings: strict)
}

func cLibrary(_ name: String, in folder: String, pkgConfig: String, apt: String, brew: String)
  -> Target
{
  .systemLibrary(
    name: name, path: "Sources/\(folder)/\(name)", pkgConfig: pkgConfig,
    providers: [.apt([apt]), .brew([brew])])
}

func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
  .testTarget(name: name, dependencies: dependencies, exclude: exclude, swiftSettings: strict)
}

let package = Package(
  name: "magpie",
  platforms: [.macOS(.v15)],
  products: [
    // Events has the types of MagpieProducer's public functions.
    .library(name: "MagpieProducer", targets: ["MagpieProducer", "Events"]),
    .library(name: "AlarmText", targets: ["AlarmText"]),
    .executable(name: "magpie", targets: ["magpie"]),
    .executable(name: "fanout-worker", targets: ["fanout-worker"]),
    .executable(name: "notification-worker", targets: ["notification-worker"]),
    .executable(name: "alarm-worker", targets: ["alarm-worker"]),
    .executable(name: "reminder-worker", targets: ["reminder-worker"]),
    .executable(name: "push-worker", targets: ["push-worker"]),
    .executable(name: "magpie-gateway", targets: ["magpie-gateway"]),
    // For the fault campaign alone.
    .library(name: "CampaignClock", type: .dynamic, targets: ["CampaignClock"]),
  ],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", .upToNextMinor(from: "1.8.2")),
    // For the certificate of the local providers.
    .package(url: "https://github.com/apple/swift-asn1.git", .upToNextMinor(from: "1.7.4")),
    .package(
      url: "https://github.com/apple/swift-certificates.git", .upToNextMinor(from: "1.21.1")),
    .package(url: "https://github.com/apple/swift-configuration", .upToNextMinor(from: "1.4.0")),
    .package(url: "https://github.com/apple/swift-crypto", .upToNextMinor(from: "4.5.2")),
    .package(url: "https://github.com/apple/swift-http-types", .upToNextMinor(from: "1.8.0")),
    .package(url: "https://github.com/apple/swift-log", .upToNextMinor(from: "1.16.2")),
    .package(url: "https://github.com/apple/swift-nio.git", .upToNextMinor(from: "2.101.2")),
    .package(url: "https://github.com/apple/swift-nio-extras.git", .upToNextMinor(from: "1.35.2")),
    // For the certificates that providers of tests have.
    .package(url: "https://github.com/apple/swift-nio-ssl.git", .upToNextMinor(from: "2.37.6")),
    .package(url: "https://github.com/apple/swift-protobuf", .upToNextMinor(from: "1.39.0")),
    .package(
      url: "https://github.com/hummingbird-project/hummingbird", .upToNextMinor(from: "2.28.1")),
    // Fetches key sets from a URL. Hummingbird's own tests resolve it, too.
    .package(
      url: "https://github.com/swift-server/async-http-client", .upToNextMinor(from: "1.37.0")),
    .package(
      url: "https://github.com/swift-server/swift-service-lifecycle",
      .upToNextMinor(from: "2.13.0")),
    .package(url: "https://github.com/vapor/jwt-kit", .upToNextMinor(from: "5.7.1")),
    // For tests of YAML files only.
    .package(url: "https://github.com/jpsim/Yams", .upToNextMinor(from: "6.2.2")),
  ],
  targets: [
    .plugin(name: "EmbedTexts", capability: .buildTool, dependencies: ["embed-texts"]),
    .executableTarget(
      name: "embed-texts", path: "Plugins/embed-texts", swiftSettings: strict),

    // The vocabulary and the two wires.
    module("Records", in: "Kafka", []),
    module("Events", ["Records", crypto, protobuf], exclude: ["proto"]),
    cLibrary(
      "CRDKafka", in: "Kafka", pkgConfig: "rdkafka", apt: "librdkafka-dev", brew: "librdkafka"),
    module("Kafka", in: "Kafka", ["CRDKafka", "Records"]),
    module("RecordLog", in: "Kafka", ["Kafka"]),
    cLibrary("CLibPQ", in: "Postgres", pkgConfig: "libpq", apt: "libpq-dev", brew: "libpq"),
    module("Postgres", in: "Postgres", ["CLibPQ"]),
    module("Schema", in: "Postgres", ["Postgres"], embedsTexts: true),
    module("MagpieProducer", ["Events", "Kafka"]),

    // What a handler is, what runs one, and what a process needs around it.
    module("Handling", in: "Runtime", ["Events", "Postgres", "Records"]),
    module(
      "Lanes", in: "Runtime", ["Events", "Handling", "Kafka", "Postgres", "Schema", logging]),
    module(
      "Serving", in: "Runtime",
      [hummingbird, httpTypes, nioCore, nioHTTPTypes, serviceLifecycle]),
    module(
      "Service", in: "Runtime",
      [
        "Events", "Handling", "Kafka", "Lanes", "Postgres", "Serving", argumentParser,
        configuration, hummingbird, logging, serviceLifecycle,
      ]),

    // A folder for each worker, and what they share.
    module("Kinds", in: "Workers", [], embedsTexts: true),
    module("Feeds", in: "Workers/fanout-worker", ["Events", "Handling", "Postgres"]),
    worker("fanout-worker"),
    module(
      "Notifications", in: "Workers/notification-worker",
      ["Events", "Handling", "Kinds", "Postgres"]),
    worker("notification-worker"),
    module(
      "AlarmText", in: "Workers/alarm-worker", ["Kinds"], embedsTexts: true),
    module(
      "Alarms", in: "Workers/alarm-worker", ["AlarmText", "Events", "Handling", "Postgres"]),
    worker("alarm-worker"),
    module("Schedules", in: "Workers/reminder-worker", ["Events", crypto]),
    module(
      "Reminders", in: "Workers/reminder-worker",
      ["Events", "Handling", "Kinds", "Postgres", "Schedules", crypto]),
    worker("reminder-worker"),
    module("Devices", in: "Workers/push-worker", ["Events", crypto]),
    module("Pushing", in: "Workers/push-worker", ["Events", "Schedules"]),
    module(
      "Providers", in: "Workers/push-worker", ["Devices", "Events", "Kinds", crypto, cryptoExtras]),
    module(
      "Pushes", in: "Workers/push-worker",
      [
        "AlarmText", "Devices", "Events", "Handling", "Kinds", "Postgres", "Providers", "Pushing",
        "Schedules",
      ]),
    module(
      "Sending", in: "Workers/push-worker",
      [
        "Devices", "Events", "Lanes", "Providers", "Pushes", asyncHTTPClient, logging, nioCore,
        nioHTTP1, nioPosix, nioSSL, serviceLifecycle,
      ]),
    worker("push-worker"),
    module(
      "WorkerCommands", in: "Workers",
      [
        "AlarmText", "Alarms", "Devices", "Events", "Feeds", "Lanes", "Notifications", "Pushes",
        "Reminders", "Schedules", "Sending", "Service",
        argumentParser,
      ]),

    // What an app talks to.
    cLibrary("CZlib", in: "Gateway", pkgConfig: "zlib", apt: "zlib1g-dev", brew: "zlib"),
    module(
      "Gateway", in: "Gateway",
      [
        "CZlib", "Events", "Kafka", "Kinds", "Lanes", "MagpieProducer", "Notifications",
        "Postgres", "Reminders", "Schedules", "Schema", "Service", "Serving", argumentParser,
        asyncHTTPClient, crypto, httpTypes, hummingbird, hummingbirdCore, jwt, logging, nioCore,
        nioHTTP1, nioHTTPTypes, nioHTTPTypesHTTP1, serviceLifecycle,
      ], embedsTexts: true),
    .executableTarget(
      name: "magpie-gateway", dependencies: ["Gateway", "Service", argumentParser],
      path: "Sources/Gateway/Executable", swiftSettings: strict),

    // What people run on a live system.
    cLibrary(
      "CZstd", in: "Operations", pkgConfig: "libzstd", apt: "libzstd-dev", brew: "zstd"),
    module(
      "Archive", in: "Operations",
      ["CZstd", "Kafka", "Lanes", "RecordLog", crypto, logging]),
    module(
      "Rebuild", in: "Operations",
      ["Events", "Handling", "Kafka", "Lanes", "Postgres", "RecordLog", "Schema"]),
    module(
      "Verification", in: "Operations",
      ["AlarmText", "Events", "Kafka", "Kinds", "Model", "Postgres", "RecordLog", crypto]),
    .executableTarget(
      name: "magpie",
      dependencies: [
        "AlarmText", "Alarms", "Archive", "EmbeddedStack", "Events", "Feeds", "Gateway",
        "Handling", "Kafka", "Lanes", "LocalProviders", "Notifications", "Postgres", "Pushes",
        "Rebuild",
        "RecordLog",
        "Reminders", "Schedules", "Schema", "Service", "Verification", "WorkerCommands",
        "Workload", argumentParser, logging,
      ],
      path: "Sources/Operations/magpie", exclude: ["README.md"],
      swiftSettings: strict, plugins: ["EmbedTexts"]),

    // What everything is tried on and measured against.
    module("EmbeddedStack", in: "Testing", ["Kafka", "Postgres"]),
    module("FaultInjection", in: "Testing", ["EmbeddedStack", "Postgres"]),
    module(
      "LocalProviders", in: "Testing",
      [
        "Serving", crypto, cryptoExtras, httpTypes, hummingbird, hummingbirdHTTP2, logging, nioSSL,
        swiftASN1, x509,
      ]),
    module("Model", in: "Testing", ["Events", "Kinds"]),
    module("Workload", in: "Testing", ["Events"]),

    .executableTarget(
      name: "producer-example", dependencies: ["Events", "MagpieProducer"],
      path: "Examples/Producer", swiftSettings: strict),
    .executableTarget(
      name: "stream-example", dependencies: [asyncHTTPClient], path: "Examples/Stream",
      exclude: ["stream.js"], swiftSettings: strict),
    .executableTarget(
      name: "magpie-bench",
      dependencies: [
        "Devices", "EmbeddedStack", "Events", "Gateway", "Kafka", "LocalProviders", "Postgres",
        "Schema", "Workload", argumentParser, asyncHTTPClient, nioCore, nioSSL,
      ],
      path: "Benchmarks/Pipeline", swiftSettings: strict),
    .executableTarget(
      name: "magpie-campaign",
      dependencies: [
        "Verification", "EmbeddedStack", "Events", "FaultInjection", "Kafka", "LocalProviders",
        "Model", "Postgres", "RecordLog", "Schema", "Workload", argumentParser,
      ],
      path: "Campaign", exclude: ["Clock", "Mutations", "README.md", "Regressions"],
      swiftSettings: strict),
    .target(name: "CampaignClock", path: "Campaign/Clock"),

    .target(
      name: "LaneSimulation",
      dependencies: ["Events", "Kafka", "Handling", "Lanes", "Service", "Workload"],
      path: "Simulation/Lanes", exclude: ["README.md"], swiftSettings: strict),
    .executableTarget(
      name: "magpie-simulate", dependencies: ["LaneSimulation", argumentParser],
      path: "Simulation/Command", swiftSettings: strict),
    tests("SimulationTests", ["LaneSimulation"]),
    .target(
      name: "TestSupport",
      dependencies: ["EmbeddedStack", "Events", "Kafka", "Postgres", "Schema"],
      path: "Tests/TestSupport", swiftSettings: strict),
    tests("EventsTests", ["Events", "Records", "Workload", yams]),
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
      "RuntimeTests",
      [
        "EmbeddedStack", "Events", "FaultInjection", "Kafka", "Handling", "Lanes", "Service",
        "Postgres", "Schema", "Serving", "TestSupport", argumentParser, hummingbird, logging,
      ]),
    tests(
      "FeedsTests",
      ["Events", "Feeds", "Model", "Handling", "Lanes", "Service", "Postgres", "TestSupport"]),
    tests(
      "NotificationsTests",
      [
        "Events", "Kafka", "Kinds", "Model", "Notifications", "Handling", "Lanes", "Service",
        "Postgres", "TestSupport",
      ]),
    tests(
      "RemindersTests",
      [
        "Alarms", "Events", "Handling", "Notifications", "Postgres", "Reminders", "Schedules",
        "TestSupport",
      ],
      exclude: ["year.py"]),
    .target(name: "AllocationCount", path: "Benchmarks/AllocationCount"),
    .executableTarget(
      name: "alarm-text-bench", dependencies: ["AlarmText", "AllocationCount", "ICUReference"],
      path: "Benchmarks/AlarmText", swiftSettings: strict),
    .executableTarget(
      name: "allocation-bench",
      dependencies: [
        "AlarmText", "Alarms", "AllocationCount", "Events", "Feeds", "Kafka", "Notifications",
        "Handling", "Lanes", "Service",
      ],
      path: "Benchmarks/Allocations", swiftSettings: strict),
    .target(
      name: "ICUReference", path: "Tests/ICUReference",
      linkerSettings: [.linkedLibrary("icui18n"), .linkedLibrary("icuuc")]),
    tests("AlarmTextTests", ["AlarmText", "ICUReference", "Kinds"]),
    tests(
      "AlarmsTests",
      [
        "AlarmText", "Alarms", "Events", "Feeds", "Model", "Notifications", "Handling", "Lanes",
        "Service", "Postgres", "TestSupport", "Verification",
      ]),
    tests("ModelTests", ["Events", "Model", "Workload"]),
    tests(
      "VerificationTests",
      [
        "Alarms", "Verification", "EmbeddedStack", "Events", "Feeds", "Kafka", "Model",
        "Notifications", "Handling", "Lanes", "Service", "Postgres", "RecordLog", "Reminders",
        "Schedules", "TestSupport", "Workload",
      ]),
    tests(
      "RebuildTests",
      [
        "Events", "Kafka", "Handling", "Lanes", "Service", "Postgres", "Rebuild", "RecordLog",
        "TestSupport",
      ]),
    .systemLibrary(
      name: "COpenSSL", path: "Tests/COpenSSL", pkgConfig: "openssl",
      providers: [.apt(["libssl-dev"]), .brew(["openssl"])]),
    tests(
      "SecurityTests",
      [
        "Alarms", "Archive", "AlarmText", "COpenSSL", "Verification", "EmbeddedStack",
        "Events", "FaultInjection", "Kafka", "Handling", "Lanes", "Service", "Postgres", "Schema",
        "TestSupport",
        crypto,
      ]),
    tests("RepositoryTests", []),
    tests(
      "DeployTests",
      [
        "AlarmText", "Alarms", "Devices", "Events", "Feeds", "Gateway", "Notifications",
        "Handling", "Lanes", "Pushes", "Reminders", "Schedules", "Service", "TestSupport", yams,
      ]),
    tests(
      "SchedulesTests", ["Schedules", "TestSupport"], exclude: ["recurrence.py", "zones.py"]),
    tests(
      "PushTests",
      [
        "AlarmText", "Alarms", "Devices", "EmbeddedStack", "Events", "Handling", "Kafka", "Lanes",
        "LocalProviders", "Notifications", "Postgres", "Providers", "Pushes", "Pushing",
        "Schedules", "Sending", "TestSupport", crypto, cryptoExtras, logging, nioCore, nioPosix,
        nioSSL,
      ],
      exclude: ["push-tests.txt", "webhook.py", "webpush.py"]),
    tests("WorkloadTests", ["Events", "Workload"]),
    tests(
      "GatewayTests",
      [
        "CZlib", "EmbeddedStack", "Events", "Gateway", "Kafka", "Lanes", "Postgres", "RecordLog",
        "Schedules", "Schema", "Serving", "TestSupport", crypto, cryptoExtras, httpTypes,
        hummingbird, hummingbirdCore, logging, nioCore, nioEmbedded, nioPosix, yams,
      ]),
    tests(
      "MagpieTests",
      [
        "Alarms", "Archive", "EmbeddedStack", "Events", "Feeds", "Kafka", "Notifications",
        "Handling", "Lanes", "Service", "Postgres", "RecordLog", "TestSupport", "magpie",
      ]),
    tests(
      "EndToEndTests",
      [
        "Verification", "EmbeddedStack", "Events", "FaultInjection", "Kafka", "LocalProviders",
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
