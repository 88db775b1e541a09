import { createHash } from 'node:crypto';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Exchange } from '../request/service-request';
import { isCurrentCopy } from './precondition';

/** The copies of an answer that the client has, by its `If-None-Match`. */
export interface HeldCopy {
  /** @param tag from `entityTagOf`. */
  has(tag: string): boolean;
}

/** A strong entity tag of what an answer says, for answers without a revision. */
export function entityTagOf(content: object): string {
  return `"${createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 32)}"`;
}

/** For routes marked `@Tagged()`. */
export const HeldCopy = createParamDecorator((_data: unknown, context: ExecutionContext): HeldCopy => {
  const [{ headers }] = context.getArgs<Exchange>();
  return { has: (tag) => isCurrentCopy(headers['if-none-match'], tag) };
});
