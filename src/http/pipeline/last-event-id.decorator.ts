import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { FieldFault } from '../../core/errors/domain-error';
import { CHECKS_LAST_EVENT_ID } from '../request/routes';
import type { Exchange } from '../request/service-request';

export const LAST_EVENT_ID = 'header.Last-Event-ID';

const DIGITS = /^\d{1,16}$/;
const MALFORMED: FieldFault = {
  field: LAST_EVENT_ID,
  message: 'must be the id of an event: a sequence, in digits only',
};

const Parsed = createParamDecorator((_data: unknown, context: ExecutionContext): number | undefined => {
  const [{ headers }] = context.getArgs<Exchange>();
  // A malformed header has been reported with the request's other faults, so the handler is not reached.
  return parsed(headers['last-event-id']);
});

/** The sequence in the request's `Last-Event-ID`, which event stream clients send when they reconnect. */
export function LastEventId(): ParameterDecorator {
  return (target, name, index) => {
    Parsed()(target, name, index);
    if (name !== undefined) describe(target, name);
  };
}

function describe(target: object, name: string | symbol): void {
  Reflect.defineMetadata(CHECKS_LAST_EVENT_ID, true, target.constructor, name);
  const handler = Object.getOwnPropertyDescriptor(target, name);
  if (handler === undefined) return;
  const description =
    '`id` of the last event that was received: the stream begins after it. Takes precedence over `after`.';
  ApiHeader({ name: 'Last-Event-ID', required: false, description })(target, name, handler);
}

/** What is wrong with a `Last-Event-ID` header, to be reported together with the faults of the query. */
export function lastEventIdFaults(header: string | readonly string[] | undefined): readonly FieldFault[] {
  return header !== undefined && parsed(header) === undefined ? [MALFORMED] : [];
}

function parsed(header: string | readonly string[] | undefined): number | undefined {
  if (typeof header !== 'string' || !DIGITS.test(header)) return undefined;
  const sequence = Number(header);
  return Number.isSafeInteger(sequence) ? sequence : undefined;
}
