import type { ValidationError } from 'class-validator';
import type { FieldFault } from '../../errors/domain-error';
import { faultsIn } from './member-rule';

/** Converts class-validator's errors to faults; `prefix` goes before each field. */
export function fieldFaults(errors: readonly ValidationError[], prefix: string): FieldFault[] {
  return errors.flatMap((error) => faultsOf(error, `${prefix}${error.property}`));
}

function faultsOf(error: ValidationError, field: string): FieldFault[] {
  const own = Object.values(error.constraints ?? {}).flatMap(
    (message) => faultsIn(message, field) ?? [{ field, message: plain(message, error.property) }],
  );
  const inside = (error.children ?? []).flatMap((child) => faultsOf(child, `${field}${step(child.property)}`));
  return [...own, ...inside];
}

/** class-validator begins its messages with the member's name, which the field already says. */
function plain(message: string, property: string): string {
  return message.startsWith(`${property} `) ? message.slice(property.length + 1) : message;
}

function step(property: string): string {
  return /^\d+$/.test(property) ? `[${property}]` : `.${property}`;
}
