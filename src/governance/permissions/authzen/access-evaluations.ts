import {
  type PermissionCheck,
  type CheckParties,
  ACTION,
  RESOURCE_ID,
  RESOURCE_TYPE,
} from '../evaluation/permission-checks';
import { reservedFaults } from '../../secrets/replacement';
import { TimeSlice } from '../../../core/concurrency/time-slice';
import type { FieldFault } from '../../../core/errors/domain-error';
import { isObject, textFault } from '../../../http/validation/shapes';
import type { JsonObject, JsonValue } from '../../../core/json/json-value';
import { type PrincipalInput, ON_BEHALF_OF, RUN } from '../principals';
import type { OtherSubject } from '../../policies/patterns/subjects';
import { charactersFault } from '../../policies/patterns/principals';
import { labelFault } from '../../../core/values/label-fault';
import { normalFormC } from '../../../core/values/normal-form';

/**
 * Result of reading an evaluation: a check; a refusal regardless of policies; or faults, for members that are missing
 * or not of the type that the standard requires.
 */
export type ReadEvaluation =
  | { readonly question: PermissionCheck }
  | { readonly invalid: 'subject_invalid' | 'resource_invalid'; readonly who: PermissionCheck['who'] }
  | { readonly faults: readonly FieldFault[] };

/** One part of an evaluation. With faults, its value is meaningless. */
interface ReadPart<Value> {
  readonly value: Value;
  readonly faults: readonly FieldFault[];
  /** False if the value has the right type, but no policy can refer to it. The evaluation is then refused. */
  readonly isValid: boolean;
}

/**
 * Subject of an evaluation. If the context names an agent, that agent acts on behalf of the subject, whose `input` is
 * then the principal.
 */
type ReadSubject = Pick<CheckParties, 'who'> & { readonly input: PrincipalInput };

/** The parts of the standard's access evaluation that are used; other members are ignored. */
interface EvaluationParts {
  readonly subject: ReadPart<ReadSubject>;
  readonly action: ReadPart<Pick<PermissionCheck, 'action' | 'parameters'>>;
  readonly resource: ReadPart<Pick<PermissionCheck, 'resourceType' | 'resourceId'>>;
  /** Id or name of the acting agent, and the run; each null if the context has none. */
  readonly context: ReadPart<Record<'agent' | 'run', string | null>>;
}

const EVALUATION_PARTS = ['subject', 'action', 'resource', 'context'] as const;
/** Matches types that are not allowed, because they have another meaning in a policy's subjects. */
const RESERVED_TYPE = /^(?:role|kind)$|[:*]/;
const SUBJECT_TYPE = { max: 100, rule: subjectTypeFault };
const SUBJECT_ID = { max: 500, rule: charactersFault };
const NOBODY: OtherSubject = { type: '', id: '', roles: [] };

/**
 * Reads each part of an evaluation. A missing part is taken from the defaults, which are already parsed, because many
 * evaluations may share large defaults.
 */
export function readParts(members: JsonObject, defaults?: EvaluationParts): EvaluationParts {
  const { subject = null, action = null, resource = null, context = null } = members;
  return {
    subject: subject === null && defaults !== undefined ? defaults.subject : readSubject(subject),
    action: action === null && defaults !== undefined ? defaults.action : readAction(action),
    resource: resource === null && defaults !== undefined ? defaults.resource : readResource(resource),
    context: context === null && defaults !== undefined ? defaults.context : readContext(context),
  };
}

export function parseEvaluation({ subject, action, resource, context }: EvaluationParts): ReadEvaluation {
  const faults = [subject, action, resource, context].flatMap((part) => part.faults);
  if (faults.length > 0) return { faults };
  const { agent, run } = context.value;
  const { who: subjectParty, input: principal } = subject.value;
  const who = agent === null ? subjectParty : { agent, field: 'context.agent' };
  // A principal must obey the same rules as in a request to execute.
  const isPrincipal = agent === null || (ON_BEHALF_OF.rule(principal) ?? []).length === 0;
  if (!subject.isValid || !isPrincipal) return { invalid: 'subject_invalid', who };
  if (!action.isValid || !resource.isValid) return { invalid: 'resource_invalid', who };
  const onBehalfOf = agent === null ? undefined : { ...principal, field: 'subject' };
  return { question: { who, onBehalfOf, ...action.value, ...resource.value, run } };
}

/** Returns a fault if the value is not an object; null and undefined count as missing. */
function objectFaults(field: string, value: JsonValue | undefined): readonly FieldFault[] {
  const isObjectOrMissing = value === undefined || value === null || isObject(value);
  return isObjectOrMissing ? [] : [{ field, message: 'must be an object' }];
}

function readSubject(subject: JsonValue): EvaluationParts['subject'] {
  const { texts, properties, faults } = partIn('subject', subject, ['type', 'id']);
  const [type = '', id = ''] = texts;
  const { roles = null } = properties;
  const message = 'must be an array of strings';
  const all = [...faults, ...(areRoles(roles) ? [] : [{ field: 'subject.properties.roles', message }])];
  if (type === 'agent') {
    const input = { subject: `${type}:${id}`, roles: undefined };
    return { value: { who: { agent: id, field: 'subject.id' }, input }, faults: all, isValid: true };
  }
  const input = { subject: `${type}:${id}`, roles: areRoles(roles) ? (roles ?? undefined) : undefined };
  const isValid = textFault(type, SUBJECT_TYPE) === undefined && textFault(id, SUBJECT_ID) === undefined;
  const who = { type: normalFormC(type), id: normalFormC(id), roles: validRoles(input.roles ?? []) };
  return { value: { who: isValid ? who : NOBODY, input }, faults: all, isValid };
}

function areRoles(value: JsonValue): value is readonly string[] | null {
  return value === null || (Array.isArray(value) && value.every((item) => typeof item === 'string'));
}

/**
 * Returns the valid roles, each once and in Unicode normal form C. Invalid roles are ignored, as they are for agents.
 */
function validRoles(input: readonly string[]): readonly string[] {
  return [...new Set(input.map((role) => normalFormC(role)))].filter((role) => labelFault(role) === undefined);
}

function readAction(action: JsonValue): EvaluationParts['action'] {
  const { texts, properties, faults } = partIn('action', action, ['name']);
  const [name = ''] = texts;
  const reserved = reservedFaults(properties).map(({ at, message }) => ({ field: `action.properties${at}`, message }));
  const all = [...faults, ...reserved];
  return {
    value: { action: name, parameters: properties },
    faults: all,
    isValid: textFault(name, ACTION) === undefined,
  };
}

function readResource(resource: JsonValue): EvaluationParts['resource'] {
  const { texts, faults } = partIn('resource', resource, ['type', 'id']);
  const [type = '', id = ''] = texts;
  const isValid = textFault(type, RESOURCE_TYPE) === undefined && textFault(id, RESOURCE_ID) === undefined;
  return { value: { resourceType: type, resourceId: id }, faults, isValid };
}

function readContext(context: JsonValue): EvaluationParts['context'] {
  const { agent = null, run = null } = isObject(context) ? context : {};
  const runFault = run === null ? undefined : textFault(run, RUN);
  const faults = [
    ...objectFaults('context', context),
    ...(agent === null || typeof agent === 'string' ? [] : [{ field: 'context.agent', message: 'must be a string' }]),
    ...(runFault === undefined ? [] : [{ field: 'context.run', message: runFault }]),
  ];
  return { value: { agent: textIn(agent), run: textIn(run) }, faults, isValid: true };
}

function subjectTypeFault(type: string): string | undefined {
  return RESERVED_TYPE.test(type) ? 'is reserved' : charactersFault(type);
}

function textIn(value: JsonValue | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

/** Reads the texts that a part must have, in the order of `names`, and its properties. */
function partIn(
  part: string,
  input: JsonValue,
  names: readonly string[],
): { texts: readonly string[]; properties: JsonObject; faults: readonly FieldFault[] } {
  if (!isObject(input)) {
    const message = input === null ? 'is required' : 'must be an object';
    return { texts: [], properties: {}, faults: [{ field: part, message }] };
  }
  const { properties } = input;
  const faults = names.flatMap((name) =>
    typeof input[name] === 'string' ? [] : [{ field: `${part}.${name}`, message: 'must be a string' }],
  );
  return {
    texts: names.map((name) => textIn(input[name]) ?? ''),
    properties: isObject(properties) ? properties : {},
    faults: [...faults, ...objectFaults(`${part}.properties`, properties)],
  };
}

export const MAX_EVALUATIONS = 1_000;

/** Rules that determine after which item the evaluation of a list stops. */
export const SEMANTICS = ['execute_all', 'deny_on_first_deny', 'permit_on_first_permit'] as const;
export type Semantic = (typeof SEMANTICS)[number];

/** True if a body is a single evaluation: it has no list, or an empty one. */
export function isSingle({ evaluations = null }: JsonObject): boolean {
  return evaluations === null || (Array.isArray(evaluations) && evaluations.length === 0);
}

/** Returns the faults of a body, except faults inside its listed evaluations. */
export function listFaults(body: JsonObject): FieldFault[] {
  const { evaluations = null, options } = body;
  const isList = evaluations === null || (Array.isArray(evaluations) && evaluations.length <= MAX_EVALUATIONS);
  const semantic = isObject(options) ? (options['evaluations_semantic'] ?? null) : null;
  const isKnown = semantic === null || SEMANTICS.some((candidate) => candidate === semantic);
  return [
    ...(isList
      ? []
      : [{ field: 'evaluations', message: `must be an array of at most ${MAX_EVALUATIONS} evaluations` }]),
    ...objectFaults('options', options),
    ...(isKnown ? [] : [{ field: 'options.evaluations_semantic', message: `must be one of ${SEMANTICS.join(', ')}` }]),
    ...(isSingle(body) ? [] : EVALUATION_PARTS.flatMap((part) => objectFaults(part, body[part]))),
  ];
}

/**
 * Returns the decision (true: permit, false: deny) after which the evaluation of a list stops; null if all items are
 * evaluated.
 */
export function stoppingDecision({ options }: JsonObject): boolean | null {
  const semantic = isObject(options) ? options['evaluations_semantic'] : null;
  if (semantic === 'permit_on_first_permit') return true;
  return semantic === 'deny_on_first_deny' ? false : null;
}

/**
 * Parses the items of a list. The members of the body beside `evaluations` are the defaults; a member of an item
 * replaces the whole default.
 */
export async function listedEvaluations(body: JsonObject): Promise<ReadEvaluation[]> {
  const defaults = readParts(body);
  const evaluations: ReadEvaluation[] = [];
  const slice = new TimeSlice();
  for (const item of (body['evaluations'] ?? []) as readonly JsonValue[]) {
    if (slice.isOver) await slice.next();
    evaluations.push(
      isObject(item)
        ? parseEvaluation(readParts(item, defaults))
        : { faults: [{ field: 'the evaluation', message: 'must be an object' }] },
    );
  }
  return evaluations;
}
