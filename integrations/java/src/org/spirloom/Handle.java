package org.spirloom;

import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Owns native objects for a Java object. They are destroyed once: by {@link #close}, or by a
 * background thread after the Java object has become unreachable.
 *
 * <p>Every call of the native library holds the lock. It belongs to this object, which is reachable
 * until the native objects are destroyed, so neither {@link #close} nor the background thread
 * destroys them during a call, even if the Java object is unreachable by then.
 */
final class Handle extends PhantomReference<Object> {
  /** Destroys native objects. Must not refer to the owner. */
  interface Destroyer {
    void destroy();
  }

  private static final ReferenceQueue<Object> UNREACHABLE = new ReferenceQueue<>();
  private static final Set<Handle> OPEN =
      java.util.Collections.newSetFromMap(new ConcurrentHashMap<Handle, Boolean>());

  static {
    Thread thread = new Thread(Handle::destroyUnreachable, "spirloom-cleaner");
    thread.setDaemon(true);
    thread.start();
  }

  private final ReentrantLock lock = new ReentrantLock();
  private final String description;
  private Destroyer destroyer;

  /** {@code description} names the owner in messages, e.g. {@code Module 'net.slg'}. */
  Handle(Object owner, String description, Destroyer destroyer) {
    super(owner, UNREACHABLE);
    this.description = description;
    this.destroyer = destroyer;
    OPEN.add(this);
  }

  /** Waits for the call in progress, and starts another one, which {@link #unlock} ends. */
  void lock() {
    lock.lock();
    if (destroyer == null) {
      lock.unlock();
      throw new IllegalStateException(description + " is closed.");
    }
    if (lock.getHoldCount() > 1) {
      lock.unlock();
      throw new IllegalStateException(
          description + " is in use by this thread: a callback called it.");
    }
  }

  void unlock() {
    lock.unlock();
  }

  boolean isOpen() {
    lock.lock();
    try {
      return destroyer != null;
    } finally {
      lock.unlock();
    }
  }

  /** Waits for the call in progress and destroys the native objects, unless that has been done. */
  void close() {
    lock.lock();
    try {
      if (lock.getHoldCount() > 1) {
        throw new IllegalStateException(
            description + " is in use by this thread: a callback closed it.");
      }
      Destroyer last = destroyer;
      destroyer = null;
      OPEN.remove(this);
      clear();
      if (last != null) {
        last.destroy();
      }
    } finally {
      lock.unlock();
    }
  }

  private static void destroyUnreachable() {
    for (; ; ) {
      try {
        ((Handle) UNREACHABLE.remove()).close();
      } catch (InterruptedException ignored) {
        // The thread ends with the process.
      }
    }
  }
}
