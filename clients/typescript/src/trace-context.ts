/** The object that all copies of `@opentelemetry/api` in a program share. */
interface SharedApi {
  readonly context?: { active(): { getValue(key: symbol): unknown } };
}

interface Span {
  spanContext(): { readonly traceId: string; readonly spanId: string; readonly traceFlags: number };
}

// The symbols are the same in every version 1.x. They replace an import, which would make bundlers fail where the
// package is missing.
const API = Symbol.for('opentelemetry.js.api.1');
const SPAN = Symbol.for('OpenTelemetry Context Key SPAN');
const VALID = /^00-(?!0+-)[0-9a-f]{32}-(?!0+-)[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Returns the W3C `traceparent` of the active span; null if no span is active, or `@opentelemetry/api` is missing. */
export function currentTraceparent(): string | null {
  const api = (globalThis as { readonly [API]?: SharedApi })[API];
  const span = api?.context?.active().getValue(SPAN) as Span | undefined;
  if (span === undefined) return null;
  const { traceId, spanId, traceFlags } = span.spanContext();
  const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  return isTraceparent(traceparent) ? traceparent : null;
}

/** True if a value has the form of a W3C `traceparent`. */
export function isTraceparent(value: unknown): value is string {
  return typeof value === 'string' && VALID.test(value);
}
