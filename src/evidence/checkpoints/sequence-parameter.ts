import { ApiParam } from '@nestjs/swagger';
import { notFound } from '../../core/errors/domain-error';

const SEQUENCE = /^[1-9]\d{0,15}$/;

/** Documents the path parameter with the sequence of an entry. */
export function ApiSequence(): MethodDecorator {
  return ApiParam({
    name: 'sequence',
    schema: { type: 'integer', minimum: 1, example: 1 },
    description: 'Place in the chain.',
  });
}

/** Returns the sequence in a path. @throws NOT_FOUND for a text that is not a sequence, because no entry can have it */
export function sequenceOf(text: string): number {
  if (!SEQUENCE.test(text)) throw notFound('provenance entry');
  return Number(text);
}
