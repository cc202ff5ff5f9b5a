"""A cache of clusters in a GPU's memory, the tier above main memory. Of the modules that search, only this one uses
torch.

The GPU scans the clusters that it holds while the processor scans the others (TeleRAG, section 4.3). Unlike TeleRAG, a
scan waits until the clusters that it needs are copied. The GPU returns all rows that may be nearest; FAISS ranks these.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from threading import Lock
from types import TracebackType
from typing import Any, Final

import numpy as np

from cloud_server.retrieval.gpu_rows import NOBODY, GpuRows, Segment, blocks, margin, segments
from shared.errors import StoreError, UsageError
from storage.ivf import Ivf
from storage.ivf_files import NUMBER, Codes, Numbers, Vectors

log = logging.getLogger(__name__)

_BLOCK: Final = 1 << 17
"""Rows that are converted to float32 at a time, which takes 200 MB in addition to the clusters, for vectors of 384
dimensions.
"""

_SLOTS: Final = 2
"""The number of buffers in pinned memory, each for one cluster: one is filled while the other is copied to the GPU."""


class GpuFailed(StoreError):
    """The GPU failed during a search."""


def torch_on(device: str) -> Any:
    """Return the module torch, after checking that it can compute on the device. Raises UsageError if torch is not
    installed or lacks the device.
    """
    try:
        import torch
    except ImportError:
        raise UsageError(
            "retrieval.gpu_mb needs torch. Set it to 0, or install torch: pip install 'jackdaw[gpu]'"
        ) from None
    if device == "cuda" and not torch.cuda.is_available():
        raise UsageError(
            f"retrieval.gpu_mb needs a GPU with CUDA, and torch {torch.__version__} sees none. Set it to 0, or install "
            "the GPU's driver and the build of torch for it."
        )
    return torch


class GpuTier:
    """A part of the clusters of `vectors`, held in at most `memory` bytes of a device. Thread-safe.

    If the device fails, the failure is logged and the device is not used again; a search raises GpuFailed at most once.
    A search that needs more memory than the device has runs without the device.
    """

    def __init__(self, vectors: Ivf, memory: int, device: str = "cuda") -> None:
        """Allocate the memory. Raises UsageError as `torch_on` does, StoreError if the device lacks the memory."""
        torch = self._torch = torch_on(device)
        layout, sizes = vectors.files.layout, vectors.sizes
        self._vectors, self._vector_bytes = vectors, layout.vector_bytes
        rows = min(memory // (layout.vector_bytes + NUMBER.itemsize), len(vectors))
        kind = torch.float32 if layout.codec == "f32" else torch.float16
        largest, is_cuda = min(int(sizes.max()), rows), device == "cuda"
        try:
            self._codes = torch.empty((rows, layout.dimensions), dtype=kind, device=device)
            self._numbers = torch.empty(rows, dtype=torch.int64, device=device)
            self._slots = [
                (
                    torch.empty((largest, layout.dimensions), dtype=kind, pin_memory=is_cuda),
                    torch.empty(largest, dtype=torch.int64, pin_memory=is_cuda),
                )
                for _ in range(_SLOTS)
            ]
            self._stream = torch.cuda.Stream() if is_cuda else None
            if self._stream:  # copies wait for earlier uses of this memory, and later uses of it wait for copies
                self._stream.wait_stream(torch.cuda.current_stream())
                self._codes.record_stream(self._stream)
                self._numbers.record_stream(self._stream)
        except RuntimeError as error:
            raise StoreError(f"The GPU has no {memory:,} bytes ({error}). Lower retrieval.gpu_mb.") from error
        self._rows = GpuRows(rows, sizes)
        self._slot_events: list[Any] = [None] * _SLOTS
        self._arrivals: dict[int, Any] = {}
        self._changed = Lock()
        self._copier = ThreadPoolExecutor(1, thread_name_prefix="clusters-gpu")
        self._is_copying = self._is_off = False
        self._copies = 0

    @property
    def is_idle(self) -> bool:
        """Whether no copy is running or queued."""
        with self._changed:
            return not self._is_copying

    def is_here(self, cluster: int) -> bool:
        """Return whether a cluster can be scanned on the device."""
        with self._changed:
            return not self._is_off and self._rows.is_here(cluster)

    def hold(self, question: object, clusters: Sequence[int]) -> None:
        """Copy a question's clusters, given nearest first, to the device once they are in memory, and keep them there
        until `let_go`.
        """
        with self._changed:
            if not self._is_off:
                self._rows.hold(question, clusters)
                self._wake()

    def let_go(self, question: object) -> None:
        """Release the clusters that are held for a question, which is over."""
        with self._changed:
            self._rows.let_go(question)

    def on_arrival(self, cluster: int) -> None:
        """Queue a cluster that was just read into memory to be copied, if it is held for a question."""
        with self._changed:
            if not self._is_off:
                self._rows.has_arrived(cluster)
                self._wake()

    def begin(self, asking: Mapping[int, Sequence[int]], vectors: Vectors, k: int) -> "_Share":
        """Start scanning the clusters that are on the device for the `k` nearest of each vector. `asking` maps each
        cluster to the positions in `vectors` of the vectors for which the cluster has to be scanned. Implements
        `FastTier.begin`.
        """
        with self._changed:
            pinned = [] if self._is_off else self._rows.pin(asking)
            events = [self._arrivals[segment.cluster] for segment in pinned]
        share = _Share(self, asking, [segment.cluster for segment in pinned])
        if pinned:
            try:
                share.chosen = self._chosen(segments(pinned), events, asking, vectors, k)
            except RuntimeError as error:
                self._fail(error)
                self.end((), share.clusters)
                share.clusters = ()
        return share

    def end(self, asked: Collection[int], scanned: Collection[int]) -> None:
        """Unpin the `scanned` clusters of a search that is over, and offer the other `asked` ones for copying: each is
        copied if there is room for it, or if it is used more than a cluster on the device.
        """
        with self._changed:
            self._rows.unpin(scanned)
            if not self._is_off:
                self._rows.offer(cluster for cluster in asked if not self._rows.is_here(cluster))
                self._wake()

    def _chosen(
        self,
        ordered: Sequence[Segment],
        events: Sequence[Any],
        asking: Mapping[int, Sequence[int]],
        vectors: Vectors,
        k: int,
    ) -> tuple[Any, Any]:
        """Return a mask of the rows that may be among the `k` nearest of each vector, shape (vectors, rows), and the
        index of each row in the device's memory, shape (rows,).
        """
        torch, device = self._torch, self._codes.device
        for event in events:
            if event:
                torch.cuda.current_stream().wait_event(event)
        asked = np.zeros((len(vectors), len(ordered)), np.bool_)
        for column, segment in enumerate(ordered):
            if segment.cluster != NOBODY:
                asked[list(asking[segment.cluster]), column] = True
        lengths = torch.tensor([segment.rows for segment in ordered], device=device)
        rows = sum(segment.rows for segment in ordered)
        is_asked = torch.from_numpy(asked).to(device).repeat_interleave(lengths, dim=1, output_size=rows)
        ranges = blocks(ordered, _BLOCK)
        questions = torch.from_numpy(np.ascontiguousarray(vectors, np.float32)).to(device)
        # The products of rows in gaps, perhaps NaN, are masked before any comparison.
        products = torch.cat([questions @ self._codes[first:stop].float().T for first, stop in ranges], 1)
        products.masked_fill_(~is_asked, -torch.inf)
        precision, dimensions = torch.get_float32_matmul_precision(), vectors.shape[1]
        off = [[margin(dimensions, float(np.linalg.norm(vector)), precision)] for vector in vectors]
        last = products.topk(min(k, rows), dim=1).values[:, -1:]
        is_near = (products >= last - 2 * torch.tensor(off, device=device)) & is_asked
        return is_near, torch.cat([torch.arange(first, stop, device=device) for first, stop in ranges])

    def fetched(self, chosen: tuple[Any, Any]) -> list[tuple[Codes, Numbers]]:
        """Copy each vector's chosen rows back from the device: return their codes and numbers, in the file's format.
        Raises GpuFailed.
        """
        try:
            is_near, rows = chosen
            hits = is_near.nonzero()
            places = rows[hits[:, 1]]
            codes = self._codes[places].cpu().view(self._torch.uint8).numpy()
            numbers, ends = self._numbers[places].cpu().numpy(), is_near.sum(dim=1).cumsum(0).cpu().numpy()[:-1]
        except RuntimeError as error:
            self._fail(error)
            raise GpuFailed(f"The GPU failed ({error}).") from error
        return list(zip(np.split(codes, ends), np.split(numbers, ends), strict=True))

    def _wake(self) -> None:
        """Start copying the queued clusters, unless copies are already running. The caller holds the lock."""
        if not self._is_copying and not self._is_off:
            try:
                self._copier.submit(self._copy_all)
            except RuntimeError:  # the process is ending
                return
            self._is_copying = True

    def _copy_all(self) -> None:
        while segment := self._next():
            event, has_come = None, False
            try:
                for _, data in self._vectors.cache.ready([segment.cluster]):
                    event, has_come = self._copy(segment, data), True
            except Exception as error:
                self._fail(error)
            with self._changed:
                self._arrivals[segment.cluster] = event
                self._rows.settle(segment.cluster, has_come=has_come)

    def _next(self) -> Segment | None:
        with self._changed:
            segment = None if self._is_off else self._rows.next()
            self._is_copying = segment is not None
            return segment

    def _copy(self, segment: Segment, data: memoryview) -> Any:
        """Copy a cluster to the device through pinned memory. Return the event that marks the copy's end; None if the
        copy has ended already.
        """
        start, rows, _ = segment
        slot = self._copies % _SLOTS
        self._copies += 1
        if last := self._slot_events[slot]:
            last.synchronize()
        codes, numbers = (part[:rows] for part in self._slots[slot])
        size = rows * self._vector_bytes
        codes.view(self._torch.uint8).numpy()[:] = np.frombuffer(data, np.uint8, size).reshape(rows, -1)
        numbers.numpy()[:] = np.frombuffer(data, NUMBER, rows, size)
        with self._torch.cuda.stream(self._stream) if self._stream else nullcontext():
            self._codes[start : start + rows].copy_(codes, non_blocking=True)
            self._numbers[start : start + rows].copy_(numbers, non_blocking=True)
            self._slot_events[slot] = self._stream.record_event() if self._stream else None
        return self._slot_events[slot]

    def _fail(self, error: Exception) -> None:
        if isinstance(error, self._torch.OutOfMemoryError):
            log.warning("a search is too large for the GPU, and is done by the processor", extra={"detail": str(error)})
            return
        with self._changed:
            is_new, self._is_off = not self._is_off, True
        if is_new:
            log.error("the GPU failed, and is not used until the next start", extra={"detail": str(error)})


class _Share:
    """The part of a search that the GPU scans. Implements `FastShare`."""

    def __init__(self, tier: GpuTier, asked: Collection[int], clusters: Collection[int]) -> None:
        self.clusters = clusters
        self.chosen: tuple[Any, Any] | None = None
        self._tier, self._asked = tier, asked

    def __enter__(self) -> "_Share":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.chosen = None
        self._tier.end(self._asked, self.clusters)

    def candidates(self) -> list[tuple[Codes, Numbers]]:
        """Return, for each vector of the search in order, the codes and numbers of the stored vectors that may be its
        nearest; an empty list if the GPU scanned no cluster. Raises GpuFailed.
        """
        return self._tier.fetched(self.chosen) if self.chosen else []
