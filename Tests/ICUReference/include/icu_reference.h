#ifndef ICU_REFERENCE_H
#define ICU_REFERENCE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// ICU's own formatter, behind a header that names no ICU type: ICU's headers and Foundation's copy
/// of them cannot be imported into the same Swift file.

typedef struct IcuPattern IcuPattern;

/// Compiles a MessageFormat pattern; NULL if ICU rejects it. The caller must destroy it.
IcuPattern *icu_pattern_create(const char *locale, const char *pattern);
void icu_pattern_destroy(IcuPattern *pattern);

/// Formats with the arguments of alarms, as UTF-8 without a terminator.
/// Returns the length, or -1 if ICU fails or the capacity is too small.
int32_t icu_pattern_format(
    const IcuPattern *pattern, const char *actor, const char *other, int64_t actors, int64_t count,
    const char *actor_final, const char *other_final, char *result, int32_t capacity);

/// Formats with any arguments: a text, or the number where the text is NULL. Otherwise as above.
int32_t icu_pattern_format_with(
    const IcuPattern *pattern, const char *const *names, const char *const *texts,
    const int64_t *numbers, int32_t count, char *result, int32_t capacity);

/// The cardinal plural category's index in zero, one, two, few, many, other; -1 on failure.
int32_t icu_plural_category(const char *locale, int64_t number);

/// Formats a whole number for the locale, as UTF-8 without a terminator. Returns as above.
int32_t icu_number(const char *locale, int64_t number, char *result, int32_t capacity);

typedef struct IcuRelative IcuRelative;

/// A formatter of relative times; NULL if ICU fails. The caller must destroy it.
IcuRelative *icu_relative_create(const char *locale);
void icu_relative_destroy(IcuRelative *relative);

/// Formats an amount of a unit (0 second, 1 minute, 2 hour, 3 day, 4 week, 5 month, 6 year), negative
/// in the past: "1 day ago", or if `named`, "yesterday". Returns as above.
int32_t icu_relative_format(
    const IcuRelative *relative, int32_t unit, int64_t amount, int32_t named, char *result,
    int32_t capacity);

#ifdef __cplusplus
}
#endif

#endif
