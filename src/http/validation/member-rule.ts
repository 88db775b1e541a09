import { registerDecorator } from 'class-validator';
import type { FieldFault } from '../../core/errors/domain-error';

/** A fault inside a member: `at` is the rest of its path, such as `[1]` or `.confidence`. */
export interface FaultInside {
  readonly at: string;
  readonly message: string;
}

/** What is wrong with a member's value: a message, faults located inside it, or nothing. */
export type MemberRule = (value: unknown) => string | readonly FaultInside[] | undefined;

/** Checks a member of a DTO. `name` distinguishes the rule from others on the same member. */
export function CheckedBy(name: string, rule: MemberRule): PropertyDecorator {
  return (target, property) => {
    let found: readonly FaultInside[] = [];
    registerDecorator({
      name,
      target: target.constructor,
      propertyName: String(property),
      validator: {
        validate: (value: unknown): boolean => {
          found = located(rule(value));
          return found.length === 0;
        },
        // Called right after a failure, in the same turn, so the rule need not run again.
        defaultMessage: () => inMessage(found),
      },
    });
  };
}

function located(found: ReturnType<MemberRule>): readonly FaultInside[] {
  return typeof found === 'string' ? [{ at: '', message: found }] : (found ?? []);
}

/** class-validator replaces texts such as `$value` in a message, so it must not contain `$`. */
function inMessage(found: readonly FaultInside[]): string {
  return JSON.stringify(found).replaceAll('$', '\\u0024');
}

/** What a rule finds wrong with the value of `field`. */
export function faultsBy(rule: MemberRule, field: string, value: unknown): FieldFault[] {
  return faultsOf(located(rule(value)), field);
}

/**
 * What a rule found wrong with the value of `field`, decoded from the message of its error; undefined if another
 * decorator produced it.
 */
export function faultsIn(message: string, field: string): FieldFault[] | undefined {
  return message.startsWith('[{') ? faultsOf(JSON.parse(message) as readonly FaultInside[], field) : undefined;
}

function faultsOf(found: readonly FaultInside[], field: string): FieldFault[] {
  return found.map(({ at, message }) => ({ field: `${field}${at}`, message }));
}
