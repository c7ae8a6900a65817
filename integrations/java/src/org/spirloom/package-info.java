/**
 * Neural networks and language models on Vulkan devices.
 *
 * <p>{@link org.spirloom.Module} runs a graph file of {@code spirloom import} on {@link
 * org.spirloom.Tensor}s; {@link org.spirloom.LlmModule} generates text. Names follow the Java API
 * of ExecuTorch. Requires Java 8 or Android 9 (API level 28), and no other library than {@code
 * libspirloom_jni}.
 *
 * <p><b>Errors.</b> A failure of the native library is a {@link org.spirloom.SpirloomException}
 * with its code. A {@code null} argument is a {@code NullPointerException} that names it, and use
 * of a closed object an {@code IllegalStateException}. All of them are unchecked.
 *
 * <p><b>Threads.</b> All classes are safe for use by several threads. A module executes one call at
 * a time; other threads wait. Several modules run independently. {@code close()} waits for the call
 * in progress. Only {@link org.spirloom.Tensor}s are not synchronized: do not modify the data of an
 * argument during a call.
 *
 * <p><b>Memory.</b> Close modules and runtimes, as they own device memory: with {@code
 * try}-with-resources or {@code close()}. An object that becomes unreachable without it is closed
 * by a background thread after the garbage collector has found it.
 */
package org.spirloom;
