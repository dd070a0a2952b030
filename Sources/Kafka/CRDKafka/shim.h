#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

// rd_kafka_producev is variadic, which Swift cannot call. A NULL key or value stays null on the
// wire; an empty one is a non-NULL pointer with length 0. On success librdkafka owns `headers`.
static inline rd_kafka_resp_err_t magpie_rd_kafka_produce(
    rd_kafka_t *rk, const char *topic, int32_t partition, const void *key, size_t key_length,
    const void *value, size_t value_length, rd_kafka_headers_t *headers, int64_t timestamp_ms,
    void *opaque) {
  return rd_kafka_producev(
      rk, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
      RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_KEY(key, key_length),
      RD_KAFKA_V_VALUE((void *)value, value_length), RD_KAFKA_V_HEADERS(headers),
      RD_KAFKA_V_TIMESTAMP(timestamp_ms), RD_KAFKA_V_OPAQUE(opaque), RD_KAFKA_V_END);
}
