"""Pool: replicas of a model on several devices, or on one, behind one call."""

from __future__ import annotations

import logging
import os
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from typing import Any, Self, Unpack

from spirloom.runtime.errors import DeviceLost, InvalidArgument
from spirloom.runtime.model import Model
from spirloom.runtime.runtime import File, LoadOptions, Runtime, default_runtime
from spirloom.runtime.tensors import TensorInfo

LOGGER = logging.getLogger("spirloom")


class Pool:
    """Replicas of a model without states. Each call runs on a replica that is idle, so that the
    calls of several threads run at the same time, and faster devices run more of them. Thread-safe.

        with spirloom.Pool("net.slg", devices=[0, 1]) as pool:
            for y, in pool.map(batches):
                ...

    A device has one copy of the weights. Results do not depend on the number of replicas if the
    devices are equal.
    """

    def __init__(
        self,
        file: File,
        devices: Sequence[Runtime | int | str] | None = None,
        *,
        replicas: int = 2,
        **options: Unpack[LoadOptions],
    ) -> None:
        """Loads the model on each device.

        file      as of Runtime.load()
        devices   runtimes, or devices as of Runtime(); a device that occurs twice has two runtimes;
                  None: the default runtime
        replicas  contexts per device: while one computes, another copies inputs and outputs
        options   as of Runtime.load()

        Raises InvalidArgument for no device, fewer than 1 replica, and a model with states.
        Otherwise like Runtime() and Runtime.load().
        """
        if replicas < 1:
            raise InvalidArgument(f"replicas ({replicas}) must be at least 1.")
        if devices is not None and not devices:
            raise InvalidArgument("A pool requires at least one device.")
        if not isinstance(file, str | os.PathLike | bytes | bytearray | memoryview):
            file = file.read()  # once
        self._changed = threading.Condition()
        self._threads: ThreadPoolExecutor | None = None
        self._is_open = True
        loaded: list[list[Model]] = []  # by device
        for runtime in _runtimes(devices):
            model = runtime.load(file, **options)
            if model.states:
                names = ", ".join(f"'{name}'" for name in model.states)
                raise InvalidArgument(
                    f"The model has states ({names}), which replicas would not share. "
                    "Create a context for each sequence (Model.context())."
                )
            loaded.append([model, *(model.context() for _ in range(replicas - 1))])
        # Neighbors are on different devices, so that few concurrent calls use all of them.
        self._idle: deque[Model] = deque(chain.from_iterable(zip(*loaded, strict=True)))
        self._count = len(self._idle)  # replicas on devices that are not lost
        self._inputs: tuple[TensorInfo, ...] = self._idle[0].inputs
        self._outputs: tuple[TensorInfo, ...] = self._idle[0].outputs

    @property
    def inputs(self) -> tuple[TensorInfo, ...]:
        """Those of the model, with the maximum shapes."""
        return self._inputs

    @property
    def outputs(self) -> tuple[TensorInfo, ...]:
        """Those of the model, with the maximum shapes."""
        return self._outputs

    def __len__(self) -> int:
        """The number of replicas on devices that are not lost."""
        with self._changed:
            return self._count

    def __call__(self, *inputs: object, **named: object) -> tuple[Any, ...]:
        """Runs once, like a call of Model; waits for an idle replica instead of raising Busy.

        If a device is lost, its replica is removed with a warning, and the call runs on another.
        Raises DeviceLost if none is left.
        """
        self._check_open()
        return self._run(inputs, named)

    def submit(self, *inputs: object, **named: object) -> Future[tuple[Any, ...]]:
        """Starts a call on another thread. The inputs must not be modified until it is done."""
        with self._changed:
            self._check_open()
            if self._threads is None:
                self._threads = ThreadPoolExecutor(max(self._count, 1), "spirloom-pool")
            return self._threads.submit(self._run, inputs, named)

    def map(self, inputs: Iterable[object]) -> Iterator[tuple[Any, ...]]:
        """Calls the pool for each element, which is an input or a tuple of inputs, and yields the
        outputs in order. Reads a few elements ahead: twice the number of replicas."""
        pending: deque[Future[tuple[Any, ...]]] = deque()
        limit = 2 * len(self)
        try:
            for each in inputs:
                values = each if isinstance(each, tuple) else (each,)
                pending.append(self.submit(*values))
                if len(pending) >= limit:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()

    def close(self) -> None:
        """Waits for the calls in progress and frees the replicas. Further calls fail."""
        with self._changed:
            self._is_open = False
        if self._threads is not None:
            self._threads.shutdown()
        with self._changed:
            self._changed.wait_for(lambda: len(self._idle) == self._count)
            while self._idle:
                self._idle.popleft().close()
            self._count = 0
            self._changed.notify_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _check_open(self) -> None:
        if not self._is_open:
            raise InvalidArgument("The pool is closed; create another.")

    def _run(self, inputs: Sequence[object], named: Mapping[str, object]) -> tuple[Any, ...]:
        while True:
            model = self._claim()
            try:
                outputs = model(*inputs, **named)
            except DeviceLost as error:
                with self._changed:
                    self._count -= 1
                    self._changed.notify_all()
                LOGGER.warning("A replica is removed from the pool: %s", error)
                continue
            except BaseException:
                self._release(model)
                raise
            self._release(model)
            return outputs

    def _claim(self) -> Model:
        """An idle replica, exclusively."""
        with self._changed:
            self._changed.wait_for(lambda: self._idle or not self._count)
            if not self._idle:
                self._check_open()
                raise DeviceLost("All devices of the pool are lost. Create another pool.")
            return self._idle.popleft()

    def _release(self, model: Model) -> None:
        with self._changed:
            self._idle.append(model)
            self._changed.notify_all()


def _runtimes(devices: Sequence[Runtime | int | str] | None) -> list[Runtime]:
    if devices is None:
        return [default_runtime()]
    return [each if isinstance(each, Runtime) else Runtime(each) for each in devices]
