import Foundation
import Kafka

/// Starts `command` in its own process group with three descriptors: `input` as stdin, and `output`
/// as stdout and stderr. -1 means /dev/null; an `output` of 1 inherits both from this process.
func spawn(
  _ command: [String], _ environment: [String: String], input: Int32, output: Int32
) throws -> Int32 {
  descriptorLock.lock()
  defer { descriptorLock.unlock() }
  var (actions, attributes) = (FileActions(), SpawnAttributes())
  #if canImport(Darwin)
    (actions, attributes) = (nil, nil)
  #endif
  posix_spawn_file_actions_init(&actions)
  posix_spawnattr_init(&attributes)
  defer {
    posix_spawn_file_actions_destroy(&actions)
    posix_spawnattr_destroy(&attributes)
  }
  if input >= 0 {
    posix_spawn_file_actions_adddup2(&actions, input, 0)
  } else {
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
  }
  if output == 1 {
    posix_spawn_file_actions_adddup2(&actions, 1, 1)
    posix_spawn_file_actions_adddup2(&actions, 2, 2)
  } else {
    if output >= 0 {
      posix_spawn_file_actions_adddup2(&actions, output, 1)
    } else {
      posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0)
    }
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
  }
  var flags =
    Int32(POSIX_SPAWN_SETPGROUP) | Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)
  #if canImport(Darwin)
    flags |= Int32(POSIX_SPAWN_CLOEXEC_DEFAULT)
  #else
    for descriptor in openDescriptors() where descriptor > 2 {
      posix_spawn_file_actions_addclose(&actions, descriptor)
    }
  #endif
  var noSignals = sigset_t()
  sigemptyset(&noSignals)
  posix_spawnattr_setsigmask(&attributes, &noSignals)
  // A process that handles signals with Dispatch ignores them, and children would inherit that.
  var plainSignals = sigset_t()
  sigemptyset(&plainSignals)
  for number in [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGPIPE, SIGUSR1, SIGUSR2] {
    sigaddset(&plainSignals, number)
  }
  posix_spawnattr_setsigdefault(&attributes, &plainSignals)
  posix_spawnattr_setpgroup(&attributes, 0)
  posix_spawnattr_setflags(&attributes, Int16(truncatingIfNeeded: flags))

  let arguments = command.map { strdup($0) } + [nil]
  let variables = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
  defer { for copy in arguments + variables { free(copy) } }
  var child: pid_t = 0
  let failure = EmbeddedBroker.whileListenersAreHeld {
    posix_spawn(&child, command[0], &actions, &attributes, arguments, variables)
  }
  guard failure == 0 else {
    throw StackError("cannot start \(command[0]): \(String(cString: strerror(failure)))")
  }
  return child
}

#if canImport(Darwin)
  private typealias FileActions = posix_spawn_file_actions_t?
  private typealias SpawnAttributes = posix_spawnattr_t?
#else
  private typealias FileActions = posix_spawn_file_actions_t
  private typealias SpawnAttributes = posix_spawnattr_t
#endif

/// Prevents a child from inheriting a pipe before it is marked close-on-exec.
private let descriptorLock = NSLock()

#if !canImport(Darwin)
  /// The open descriptors of this process. Closing one that is already closed is harmless.
  private func openDescriptors() -> [Int32] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    return names.compactMap { Int32($0) }
  }
#endif

/// Creates a pipe that no child inherits.
func closeOnExecPipe() throws -> (read: Int32, write: Int32) {
  descriptorLock.lock()
  defer { descriptorLock.unlock() }
  var ends: [Int32] = [-1, -1]
  guard pipe(&ends) == 0 else {
    throw StackError("cannot create a pipe: \(String(cString: strerror(errno)))")
  }
  for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
  return (ends[0], ends[1])
}
