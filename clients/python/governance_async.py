"""The client of the agent governance service for asyncio; needs governance.py next to it, and the standard library only.

    governance = AsyncGovernance("http://127.0.0.1:3000", os.environ["GOVERNANCE_API_KEY"])

    @governance.guard("send-payment", "payment", lambda number, amount: f"payments/{number}",
                      parameters=lambda number, amount: {"amount": amount}, wait=300)
    async def pay(number, amount): ...

    async with governance.guard("send-payment", "payment", "payments/2026/0042", wait=300) as execution:
        execution.result = await bank.send(1200)

It requests, waits, retries and reports like `Governance`, in a thread for each request or guarded call, so that the event loop goes on.
"""

from __future__ import annotations

import asyncio
import contextvars
import copy
import functools
import inspect
import threading
from typing import Any, AsyncIterator, Awaitable, Callable, Concatenate, Coroutine, Mapping, Optional, ParamSpec, TypeVar, Union, cast

from governance import ActionCarriedOut, Governance, Guard, GuardedExecution, _copied, _of_call, _require_ended

__all__ = ["AsyncGovernance", "AsyncGuard"]

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")

#: Attributes of a guard that may be functions of the call.
_PER_CALL = ("_resource_id", "_parameters", "_on_behalf_of", "_run")
_CANCELLED = "The call was cancelled before it began."


class AsyncGuard:
    """One guarded action: use it as a decorator of an `async def`, or in an `async with`."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        #: The execution of the `async with` whose block runs now.
        self._entered: Optional[GuardedExecution] = None
        self._is_entered = False

    def __call__(
        self, function: Callable[_Given, Awaitable[_Result]]
    ) -> Callable[_Given, Coroutine[Any, Any, _Result]]:
        if not inspect.iscoroutinefunction(function):
            name = getattr(function, "__qualname__", function)
            raise TypeError(f"{name} is not an async def: guard it with Governance.")

        @functools.wraps(function)
        async def guarded(*given: _Given.args, **given_by_name: _Given.kwargs) -> Any:
            # Copies: the requested values run, even if the caller changes its own while the call waits.
            arguments, named = _copied(given), _copied(given_by_name)
            try:
                execution = await self._permitted(arguments, named)
            except ActionCarriedOut as done:
                return done.result
            try:
                execution.result = await function(*arguments, **self._guard._handed(named, execution))
                _require_ended(execution.result)
            except BaseException as error:
                await _report(execution, error)
                raise
            await _report(execution, None)
            return execution.result

        return guarded

    async def __aenter__(self) -> GuardedExecution:
        if self._is_entered:
            raise RuntimeError("This guard is in use: each `async with` needs a guard of its own.")
        self._is_entered = True
        try:
            self._entered = await self._permitted((), {})
        except BaseException:
            self._is_entered = False
            raise
        return self._entered

    async def __aexit__(self, kind: Any, error: Optional[BaseException], trace: Any) -> None:
        execution, self._entered, self._is_entered = self._entered, None, False
        if execution is not None:
            await _report(execution, error)

    async def _permitted(self, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> GuardedExecution:
        guard, service = copy.copy(self._guard), self._guard._governance
        for name in _PER_CALL:
            # These functions are the program's, so they run here and not in the thread.
            setattr(guard, name, _of_call(getattr(guard, name), arguments, named))
        call = _Call(service)
        guard._governance = call

        def permitted() -> GuardedExecution:
            execution = guard._permitted((), {})
            execution._governance = service
            return execution

        try:
            return await _in_thread(permitted, unclaimed=_report_cancelled)
        except asyncio.CancelledError:
            call.is_cancelled.set()
            raise


class AsyncGovernance:
    """The service, as `Governance` describes it: its parameters are the same."""

    def __init__(
        self,
        url: str,
        key: Union[str, Callable[[], str]],
        patience: float = 30.0,
        timeout: float = 90.0,
        proxy: Optional[str] = None,
    ) -> None:
        #: The same service, for code that is not asynchronous.
        self.governance = Governance(url, key, patience, timeout, proxy)

    async def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        query: Optional[Mapping[str, Any]] = None,
        patience: Optional[float] = None,
        change: Optional[str] = None,
    ) -> Any:
        return await _in_thread(lambda: self.governance.request(method, path, body, query, patience, change))

    async def pages(self, path: str, query: Optional[Mapping[str, Any]] = None) -> AsyncIterator[Any]:
        """All records of a list, page by page as they are needed."""
        pages, end = self.governance.pages(path, query), object()
        while (record := await _in_thread(lambda: next(pages, end))) is not end:
            yield record

    async def own_agent(self) -> str:
        """The agent that the key is bound to."""
        return await _in_thread(self.governance.own_agent)

    @staticmethod
    def _guard(
        guard: Callable[Concatenate[Governance, _Given], Guard],
    ) -> Callable[Concatenate["AsyncGovernance", _Given], AsyncGuard]:
        @functools.wraps(guard)
        def asynchronous(self: "AsyncGovernance", /, *given: _Given.args, **named: _Given.kwargs) -> AsyncGuard:
            return AsyncGuard(guard(self.governance, *given, **named))

        return asynchronous

    guard = _guard(Governance.guard)


class _Call(Governance):
    """The service as one guarded call uses it: nothing more is requested once the call is cancelled, so that no approval is used up."""

    def __init__(self, governance: Governance) -> None:
        self._governance = governance
        self.is_cancelled = threading.Event()

    def request(self, *given: Any, **named: Any) -> Any:
        if self.is_cancelled.is_set():
            raise asyncio.CancelledError(_CANCELLED)
        return self._governance.request(*given, **named)

    def own_agent(self) -> str:
        return self._governance.own_agent()


async def _report(execution: GuardedExecution, error: Optional[BaseException]) -> None:
    """Reports in a thread that ends only after the report, even if this coroutine or its loop ends earlier."""
    kind = None if error is None else type(error)
    await _in_thread(lambda: execution.__exit__(kind, error, None), is_daemon=False)


def _report_cancelled(execution: GuardedExecution) -> None:
    """Reports that an authorised action will not run, since its call was cancelled."""
    error = asyncio.CancelledError(_CANCELLED)
    execution.__exit__(type(error), error, None)


async def _in_thread(
    work: Callable[[], _Result], unclaimed: Callable[[_Result], None] = lambda _: None, is_daemon: bool = True
) -> _Result:
    """Returns the result of `work`. If the coroutine was cancelled meanwhile, `unclaimed` gets the result, in a thread.
    Each call has a thread of its own, since calls that wait for people could take up a whole pool."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[Optional[BaseException], Any]] = loop.create_future()
    context = contextvars.copy_context()

    def settle(error: Optional[BaseException], result: Any) -> None:
        if not done.cancelled():
            done.set_result((error, result))
        elif error is None:
            threading.Thread(target=unclaimed, args=(result,), name="governance").start()

    def run() -> None:
        error: Optional[BaseException] = None
        result: Any = None
        try:
            result = context.run(work)
        except BaseException as raised:
            error = raised
        try:
            loop.call_soon_threadsafe(settle, error, result)
        except RuntimeError:
            # The loop has ended.
            if error is None:
                unclaimed(result)

    threading.Thread(target=run, name="governance", daemon=is_daemon).start()
    error, result = await done
    if error is not None:
        raise error
    return cast(_Result, result)
