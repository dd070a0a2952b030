import Foundation

/// Opens /dev/null as each of standard input, output and error that is closed, so that no file or
/// connection gets its number and receives what is written to it. Only for reading: writes fail.
///
/// Call it first in a program, on the main thread: Dispatch opens descriptors when it has work.
public func openStandardDescriptors() {
  for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
    // Takes the lowest number that is free, which is this one.
    _ = open("/dev/null", O_RDONLY)
  }
}
