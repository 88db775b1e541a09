// Loaded before a program: a span that is active all the time.
const { context, ROOT_CONTEXT, trace } = require('@opentelemetry/api');

const span = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', traceFlags: 1 };
const active = trace.setSpanContext(ROOT_CONTEXT, span);

context.setGlobalContextManager({
  active: () => active,
  with: (_context, run, receiver, ...values) => run.apply(receiver, values),
  bind: (_context, target) => target,
  enable() {
    return this;
  },
  disable() {
    return this;
  },
});
