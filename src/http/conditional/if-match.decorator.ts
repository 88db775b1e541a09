import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import { ApiHeader } from '@nestjs/swagger';
import type { FieldFault } from '../../core/errors/domain-error';
import { CHECKS_IF_MATCH } from '../request/routes';
import type { Exchange } from '../request/service-request';
import { parseIfMatch, type Precondition } from './precondition';

const MALFORMED: FieldFault = {
  field: 'header.If-Match',
  message: 'must be "*", an entity tag such as "3" with its quotes, or a comma-separated list of them',
};

const Parsed = createParamDecorator((_data: unknown, context: ExecutionContext): Precondition | undefined => {
  const [{ headers }] = context.getArgs<Exchange>();
  // A malformed header has been reported with the request's other faults, so the handler is not reached.
  return parseIfMatch(headers['if-match']);
});

/** The request's `If-Match` as a Precondition, which matches everything when the header is absent. */
export function IfMatch(): ParameterDecorator {
  return (target, name, index) => {
    Parsed()(target, name, index);
    if (name !== undefined) {
      describe(target, name);
    }
  };
}

function describe(target: object, name: string | symbol): void {
  Reflect.defineMetadata(CHECKS_IF_MATCH, true, target.constructor, name);
  const handler = Object.getOwnPropertyDescriptor(target, name);
  if (handler !== undefined) {
    const description =
      'ETag of the revision the change is based on (one, a list, or `*`); 412 when it is not current.';
    ApiHeader({ name: 'If-Match', required: false, description })(target, name, handler);
  }
}

/** What is wrong with an `If-Match` header, to be reported together with the faults of query and body. */
export function ifMatchFaults(header: string | undefined): readonly FieldFault[] {
  return parseIfMatch(header) === undefined ? [MALFORMED] : [];
}
