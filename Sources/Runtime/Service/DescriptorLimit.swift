import Foundation

/// Lets the process have as many files and connections open as its hard limit admits.
///
/// The soft limit of a container or a shell is often 1024, for programs that use select(2).
func raiseDescriptorLimit() {
  #if canImport(Glibc)
    // The constant is of an enum, and the functions may take an integer.
    let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  #else
    let resource = RLIMIT_NOFILE
  #endif
  var limit = rlimit()
  guard getrlimit(resource, &limit) == 0 else { return }
  #if canImport(Darwin)
    // More is refused, also if the hard limit is higher.
    let most = min(limit.rlim_max, rlim_t(OPEN_MAX))
  #else
    let most = limit.rlim_max
  #endif
  guard limit.rlim_cur < most else { return }
  limit.rlim_cur = most
  // If it is refused, the process has what it had.
  _ = setrlimit(resource, &limit)
}
