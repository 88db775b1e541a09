import type { ValidationError } from 'class-validator';
import type { FieldFault } from '../../errors/domain-error';
import { faultsBy, ruleIn } from './member-rule';

/** The errors of class-validator as faults; `prefix` goes before each field. */
export function fieldFaults(errors: readonly ValidationError[], prefix: string): FieldFault[] {
  return errors.flatMap((error) => faultsOf(error, `${prefix}${error.property}`));
}

function faultsOf(error: ValidationError, field: string): FieldFault[] {
  const own = Object.entries(error.constraints ?? {}).flatMap(([name, message]) => {
    const rule = ruleIn(error.contexts?.[name]);
    return rule === undefined
      ? [{ field, message: plain(message, error.property) }]
      : faultsBy(rule, field, error.value);
  });
  const inside = (error.children ?? []).flatMap((child) => faultsOf(child, `${field}${step(child.property)}`));
  return [...own, ...inside];
}

/** class-validator begins its own messages with the member's name, which the field tells already. */
function plain(message: string, property: string): string {
  return message.startsWith(`${property} `) ? message.slice(property.length + 1) : message;
}

function step(property: string): string {
  return /^\d+$/.test(property) ? `[${property}]` : `.${property}`;
}
