import type { AskedPermission } from '../evaluation/asked-permission';
import { ACTION, RESOURCE_ID, RESOURCE_TYPE } from '../evaluation/question-faults';
import type { FieldFault } from '../errors/domain-error';
import { textFault } from '../http/validation/text-rules';
import type { JsonObject, JsonValue } from '../json/json-value';
import type { OtherSubject } from '../policies/patterns/subject';
import { labelFault } from '../shared/label-fault';

/** What the standard calls an access evaluation, as far as we read it; other members are ignored. */
export interface AccessEvaluation {
  readonly subject: { readonly type: string; readonly id: string; readonly properties?: JsonObject | null };
  readonly action: { readonly name: string; readonly properties?: JsonObject | null };
  readonly resource: { readonly type: string; readonly id: string };
}

/** Why an evaluation is refused regardless of policies. */
export type InvalidReason = 'subject_invalid' | 'resource_invalid';

/** An evaluation converted to our terms. */
export type ReadEvaluation =
  { readonly question: AskedPermission } | { readonly invalid: InvalidReason; readonly who: AskedPermission['who'] };

export const EVALUATION_PARTS = ['subject', 'action', 'resource', 'context'] as const;
export type EvaluationPart = (typeof EVALUATION_PARTS)[number];

const LONGEST_TYPE = 100;
const LONGEST_ID = 500;
/** In a policy's subjects, these mean something else. */
const RESERVED_TYPES = ['role', 'kind'];
const NOBODY: OtherSubject = { type: '', id: '', roles: [] };

/** Members of an evaluation that are missing, or not of the type that the standard requires. */
export function evaluationFaults(members: JsonObject): FieldFault[] {
  const { subject, action, resource, context } = members;
  return [
    ...partFaults('subject', subject, ['type', 'id']),
    ...rolesFaults(subject),
    ...partFaults('action', action, ['name']),
    ...partFaults('resource', resource, ['type', 'id']),
    ...objectFaults('context', context),
  ];
}

/** Converts a valid evaluation. */
export function readEvaluation({ subject, action, resource }: AccessEvaluation): ReadEvaluation {
  const who = subjectOf(subject);
  if (who === null) return { invalid: 'subject_invalid', who: NOBODY };
  const fault =
    textFault(action.name, ACTION) ?? textFault(resource.type, RESOURCE_TYPE) ?? textFault(resource.id, RESOURCE_ID);
  if (fault !== undefined) return { invalid: 'resource_invalid', who };
  const asked = { action: action.name, resourceType: resource.type, resourceId: resource.id };
  return { question: { who, ...asked, parameters: action.properties ?? {} } };
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Null counts as left out. */
export function objectFaults(field: string, value: JsonValue | undefined): FieldFault[] {
  return value === undefined || value === null || isObject(value) ? [] : [{ field, message: 'must be an object' }];
}

/** Null: no policy can refer to it. The roles are taken from the caller. */
function subjectOf({ type, id, properties }: AccessEvaluation['subject']): AskedPermission['who'] | null {
  if (type === 'agent') return { agent: id, field: 'subject.id' };
  const typeFault = textFault(type, { max: LONGEST_TYPE, rule: charactersFault }) ?? reservedFault(type);
  const idFault = textFault(id, { max: LONGEST_ID, rule: charactersFault });
  if (typeFault !== undefined || idFault !== undefined) return null;
  const roles = (properties?.['roles'] ?? []) as readonly string[];
  return {
    type: type.normalize('NFC'),
    id: id.normalize('NFC'),
    // As for agents: an invalid role is ignored.
    roles: roles.filter((role) => labelFault(role) === undefined),
  };
}

function reservedFault(type: string): string | undefined {
  return RESERVED_TYPES.includes(type) || /[:*]/.test(type) ? 'is reserved' : undefined;
}

function charactersFault(text: string): string | undefined {
  return /[\p{Cc}\p{Cf}]/u.test(text) ? 'must not contain control or format characters' : undefined;
}

function partFaults(part: string, value: JsonValue | undefined, texts: readonly string[]): FieldFault[] {
  if (value === undefined || value === null) return [{ field: part, message: 'is required' }];
  if (!isObject(value)) return [{ field: part, message: 'must be an object' }];
  const faults = texts.flatMap((name) =>
    typeof value[name] === 'string' ? [] : [{ field: `${part}.${name}`, message: 'must be a string' }],
  );
  return [...faults, ...objectFaults(`${part}.properties`, value['properties'])];
}

function rolesFaults(subject: JsonValue | undefined): FieldFault[] {
  const properties = isObject(subject) ? subject['properties'] : undefined;
  const roles = isObject(properties) ? (properties['roles'] ?? null) : null;
  const areTexts = roles === null || (Array.isArray(roles) && roles.every((role) => typeof role === 'string'));
  return areTexts ? [] : [{ field: 'subject.properties.roles', message: 'must be an array of strings' }];
}
