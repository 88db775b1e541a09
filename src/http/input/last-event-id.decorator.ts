import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { HeaderParameter } from '../request/routes';
import type { Exchange } from '../request/service-request';

const DIGITS = /^\d{1,16}$/;
const EXPECTED = 'must be the id of an event: a sequence, in digits only';

const HEADER = {
  name: 'Last-Event-ID',
  description: '`id` of the last event that was received: the stream begins after it. Takes precedence over `after`.',
  faultOf: (header: string): string | undefined => (parsed(header) === undefined ? EXPECTED : undefined),
};

const Parsed = createParamDecorator((_data: unknown, context: ExecutionContext): number | undefined => {
  const [{ headers }] = context.getArgs<Exchange>();
  return parsed(String(headers['last-event-id']));
});

/** The sequence in the request's `Last-Event-ID`, which event stream clients send when they reconnect. */
export function LastEventId(): ParameterDecorator {
  return HeaderParameter(HEADER, Parsed());
}

function parsed(header: string): number | undefined {
  const sequence = DIGITS.test(header) ? Number(header) : NaN;
  return Number.isSafeInteger(sequence) ? sequence : undefined;
}
