import { AsyncLocalStorage } from 'node:async_hooks';
import { BAGGAGE_META_KEY, TRACEPARENT_META_KEY, TRACESTATE_META_KEY } from '@modelcontextprotocol/client';
import { isTraceparent } from '../../../typescript/src/trace-context.js';

type Meta = Readonly<Record<string, unknown>>;

const KEYS = [TRACEPARENT_META_KEY, TRACESTATE_META_KEY, BAGGAGE_META_KEY];

const traces = new AsyncLocalStorage<Meta>();

/** Carries out a call within the trace of its client, if there is one. */
export function withinTrace<Result>(meta: Meta | undefined, call: () => Promise<Result>): Promise<Result> {
  const members = KEYS.flatMap((key) => (typeof meta?.[key] === 'string' ? [[key, meta[key]] as const] : []));
  const trace: Meta = Object.fromEntries(members);
  return traces.run(isTraceparent(trace[TRACEPARENT_META_KEY]) ? trace : {}, call);
}

/** Returns the trace for the governed server. */
export function traceMeta(): { _meta?: Record<string, unknown> } {
  const trace = traces.getStore() ?? {};
  return Object.keys(trace).length === 0 ? {} : { _meta: { ...trace } };
}

/** Wraps `fetch` to send the trace of the call to the service, which records it with the execution. */
export function tracedFetch(fetch: typeof globalThis.fetch): typeof globalThis.fetch {
  return (url, init) => {
    const traceparent = traces.getStore()?.[TRACEPARENT_META_KEY];
    if (typeof traceparent !== 'string' || init?.method !== 'POST') return fetch(url, init);
    const headers = new Headers(init.headers);
    headers.set('traceparent', traceparent);
    return fetch(url, { ...init, headers });
  };
}
