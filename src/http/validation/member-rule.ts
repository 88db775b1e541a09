import { registerDecorator } from 'class-validator';
import type { FieldFault } from '../../errors/domain-error';

/** A fault inside a member: `at` is the rest of its path, such as `[1]` or `.confidence`. */
export interface FaultInside {
  readonly at: string;
  readonly message: string;
}

/** What is wrong with a member's value: a message, faults located inside it, or nothing. */
export type MemberRule = (value: unknown) => string | readonly FaultInside[] | undefined;

/** Key of the rule in the context class-validator hands back with an error. */
const RULE = 'rule';

/** Checks a member of a DTO. `name` tells the rule from others on the same member. */
export function CheckedBy(name: string, rule: MemberRule): PropertyDecorator {
  return (target, property) =>
    registerDecorator({
      name,
      target: target.constructor,
      propertyName: String(property),
      options: { context: { [RULE]: rule } },
      validator: { validate: (value: unknown) => passes(rule(value)), defaultMessage: () => name },
    });
}

function passes(found: ReturnType<MemberRule>): boolean {
  return found === undefined || (typeof found !== 'string' && found.length === 0);
}

/** The rule in an error's context; undefined when another decorator made the error. */
export function ruleIn(context: unknown): MemberRule | undefined {
  return typeof context === 'object' && context !== null && RULE in context ? (context[RULE] as MemberRule) : undefined;
}

/** What a rule finds wrong with the value of `field`. */
export function faultsBy(rule: MemberRule, field: string, value: unknown): FieldFault[] {
  const found = rule(value);
  if (found === undefined) {
    return [];
  }
  if (typeof found === 'string') {
    return [{ field, message: found }];
  }
  return found.map(({ at, message }) => ({ field: `${field}${at}`, message }));
}
