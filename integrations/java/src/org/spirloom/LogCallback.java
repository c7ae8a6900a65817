package org.spirloom;

/** Receives log messages of the native library. */
public interface LogCallback {
  /** The severity of a message. */
  enum Level {
    /** A decision, e.g. the selected device. */
    INFO,
    /** A fallback, e.g. a cache that cannot be written. */
    WARNING,
    /** A message of the validation layer. */
    ERROR
  }

  /**
   * Called for each message, by any thread, and by several at once. Must not call this package:
   * a lock may be held. Exceptions are discarded.
   */
  void onMessage(Level level, String message);
}
