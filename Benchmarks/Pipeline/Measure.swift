/// What is measured, in the order of the table.
enum Measure: String, CaseIterable {
  case followsPerSecond, deliveriesPerSecond, insertSelectPerSecond, copyPerSecond
  case fanoutToInsertSelect, fanoutToCopy
  case postsPerTransaction, logBytesPerDelivery
  case fanoutWorkerShare, fanoutDatabaseShare, fanoutBrokerShare
  case rebuiltRecordsPerSecond, rebuiltDeliveriesPerSecond, rebuiltToLive
  case rebuildToolShare, rebuildDatabaseShare
  case likesPerSecond, upsertPerSecond, likesToUpsert
  case likesPerTransaction, likesProducing
  case likesWorkerShare, likesDatabaseShare, likesBrokerShare
  case consumedPerSecond, kcatPerSecond, consumedToKcat

  /// Digits after the point.
  var digits: Int {
    if rawValue.hasSuffix("Share") { return 3 }
    return ["To", "Producing"].contains { rawValue.contains($0) } ? 2 : 0
  }

  var title: String {
    switch self {
    case .followsPerSecond: "follow events a second, Kafka to committed rows"
    case .deliveriesPerSecond: "deliveries a second, Kafka to committed rows"
    case .insertSelectPerSecond: "the same rows by `INSERT … SELECT … ON CONFLICT`, 100 posts each"
    case .copyPerSecond: "the same rows by binary COPY, sorted within 100 posts"
    case .fanoutToInsertSelect: "whole path / `INSERT … SELECT`"
    case .fanoutToCopy: "whole path / COPY"
    case .postsPerTransaction: "posts in a transaction"
    case .logBytesPerDelivery: "bytes of write-ahead log for each delivery"
    case .fanoutWorkerShare: "fan-out: processors busy with the worker"
    case .fanoutDatabaseShare: "fan-out: processors busy with PostgreSQL"
    case .fanoutBrokerShare: "fan-out: processors busy with the embedded broker"
    case .rebuiltRecordsPerSecond: "records a second, `magpie replay --rebuild feeds`, all of it"
    case .rebuiltDeliveriesPerSecond: "deliveries a second, the same rebuild"
    case .rebuiltToLive: "rebuild / live path, for the same rows"
    case .rebuildToolShare: "rebuild: processors busy with the tool"
    case .rebuildDatabaseShare: "rebuild: processors busy with PostgreSQL"
    case .likesPerSecond: "like events a second, Kafka to notifications and acknowledged changes"
    case .upsertPerSecond: "the same likes by bulk upsert into one table, 2000 each"
    case .likesToUpsert: "whole path / bulk upsert"
    case .likesPerTransaction: "likes in a transaction"
    case .likesProducing: "likes: share of the time until the broker had all of them"
    case .likesWorkerShare: "likes: processors busy with the worker"
    case .likesDatabaseShare: "likes: processors busy with PostgreSQL"
    case .likesBrokerShare: "likes: processors busy with the embedded broker"
    case .consumedPerSecond: "records a second, consumed and decoded only"
    case .kcatPerSecond: "the same records by kcat (librdkafka), process start included"
    case .consumedToKcat: "consumed and decoded / kcat"
    }
  }
}
